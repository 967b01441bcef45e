import type { Effects } from '../kernel/effects.ts';
import type { Operator } from '../operator/operator.ts';
import type { Overview } from '../operator/overview.ts';

/** What watchers are told: what to read again, and the verdict. Never anything of a payload. */
export interface ChangeNote {
  /** Rises with each note of one server. */
  readonly id: number;
  readonly at: string;
  /** What has changed since the note before. */
  readonly changed: readonly ChangedPart[];
  readonly verdict: string;
  /** How many things need somebody. */
  readonly attention: number;
}

/** `work`: messages came, ended or failed. `attention`: what needs somebody. `down`: the database does not answer. */
export type ChangedPart = 'work' | 'attention' | 'handlers' | 'breakers' | 'audit' | 'down';

interface Watcher {
  readonly actor: string;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  /** Whoever opened it would still be let in. */
  readonly isKnown: () => Promise<boolean>;
  askedMs: number;
}

const HEARTBEAT_MS = 15_000;
// A live connection has no end of its own: so long it may outlive the session it was opened in.
const KNOWN_MS = 15_000;
// A reader that is this far behind is let go: it connects again, and reads anew what it missed.
const MOST_BEHIND_BYTES = 65_536;

/** Of a live connection. */
export const EVENT_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // nginx would hold events back until its buffer is full.
  'x-accel-buffering': 'no',
};

/** Tells everybody who watches what changed. One reader of the database for all, and none while nobody watches. */
export class EventHub {
  readonly #operator: Operator;
  readonly #effects: Effects;
  readonly #pollMs: number;
  readonly #most: number;
  readonly #watchers = new Set<Watcher>();
  #timer: unknown;
  #seen: Readonly<Record<Exclude<ChangedPart, 'down'>, string>> | undefined;
  #last: ChangeNote | undefined;
  #nextId = 1;
  #toldMs = 0;
  #isReading = false;
  #isClosed = false;

  constructor(operator: Operator, effects: Effects, limits: { readonly pollMs: number; readonly most: number }) {
    this.#operator = operator;
    this.#effects = effects;
    this.#pollMs = limits.pollMs;
    this.#most = limits.most;
  }

  /**
   * A live connection; nothing when there are as many as there may be. Who has most of them makes room for who has fewer: one actor
   * alone may have all, and nobody is kept out by one. It ends when `isKnown` says so, which is asked now and then.
   */
  open(actor: string, isKnown: () => Promise<boolean>): Response | undefined {
    if (this.#isClosed || (this.#watchers.size >= this.#most && !this.#makeRoom(actor))) return undefined;
    let watcher: Watcher | undefined;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          watcher = { actor, controller, isKnown, askedMs: this.#effects.monoMs() };
          this.#watchers.add(watcher);
          // Browsers wait three seconds before they connect again unless they are told; the comment makes proxies pass on the head.
          this.#send(watcher, 'retry: 2000\n: welcome\n\n');
          if (this.#last) this.#send(watcher, written(this.#last));
        },
        cancel: () => this.#drop(watcher),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MOST_BEHIND_BYTES }),
    );
    if (this.#timer === undefined) void this.#look();
    return new Response(body, { headers: EVENT_HEADERS });
  }

  #makeRoom(actor: string): boolean {
    const shares = Map.groupBy(this.#watchers, (one) => one.actor);
    const [most = []] = [...shares.values()].toSorted((a, b) => b.length - a.length);
    if (most.length <= (shares.get(actor)?.length ?? 0) + 1) return false;
    this.#drop(most[0]);
    return true;
  }

  get watching(): number {
    return this.#watchers.size;
  }

  close(): void {
    this.#isClosed = true;
    this.#effects.clearTimer(this.#timer);
    this.#timer = undefined;
    for (const watcher of this.#watchers) this.#drop(watcher);
  }

  async #look(): Promise<void> {
    if (this.#isReading || this.#isClosed) return;
    this.#isReading = true;
    try {
      this.#compare(await this.#operator.overview({ range: 'hour' }));
    } catch {
      this.#down();
    }
    await this.#dropUnknown();
    this.#isReading = false;
    this.#beat();
    this.#timer = undefined;
    if (this.#watchers.size > 0 && !this.#isClosed) {
      this.#timer = this.#effects.setTimer(() => void this.#look(), this.#pollMs);
    } else this.#seen = undefined;
  }

  async #dropUnknown(): Promise<void> {
    const nowMs = this.#effects.monoMs();
    const due = [...this.#watchers].filter(({ askedMs }) => nowMs - askedMs >= KNOWN_MS);
    const asked = due.map(async (watcher) => {
      watcher.askedMs = nowMs;
      // Where it cannot be told, the database is away: nobody is told anything but that.
      if (!(await watcher.isKnown().catch(() => true))) this.#drop(watcher);
    });
    await Promise.all(asked);
  }

  #compare(overview: Overview): void {
    const parts = partsOf(overview);
    const before = this.#seen;
    this.#seen = parts;
    const changed = (Object.keys(parts) as (keyof typeof parts)[]).filter((part) => parts[part] !== before?.[part]);
    if (changed.length === 0) return;
    const { at, verdict, attention } = overview;
    this.#tell({ changed, at: at.toISOString(), verdict, attention: attention.length });
  }

  #down(): void {
    if (this.#last?.changed.includes('down')) return;
    this.#seen = undefined;
    const at = new Date(this.#effects.now().wallMs).toISOString();
    this.#tell({ changed: ['down'], at, verdict: 'The database does not answer.', attention: 1 });
  }

  #tell(note: Omit<ChangeNote, 'id'>): void {
    this.#last = { id: this.#nextId++, ...note };
    this.#sendAll(written(this.#last));
  }

  /** Keeps connections open that proxies would end, and finds those that are gone. */
  #beat(): void {
    if (this.#effects.monoMs() - this.#toldMs >= HEARTBEAT_MS) this.#sendAll(': still here\n\n');
  }

  #sendAll(text: string): void {
    this.#toldMs = this.#effects.monoMs();
    for (const watcher of this.#watchers) this.#send(watcher, text);
  }

  #send(watcher: Watcher, text: string): void {
    const bytes = new TextEncoder().encode(text);
    if ((watcher.controller.desiredSize ?? 0) < bytes.length) return this.#drop(watcher);
    watcher.controller.enqueue(bytes);
  }

  #drop(watcher: Watcher | undefined): void {
    if (watcher === undefined || !this.#watchers.delete(watcher)) return;
    try {
      watcher.controller.close();
    } catch {
      // It was closed by the other side.
    }
  }
}

function partsOf({
  points,
  attention,
  handlers,
  breakers,
  audit,
}: Overview): Record<Exclude<ChangedPart, 'down'>, string> {
  return {
    work: JSON.stringify([points.at(-1), points.at(-2)]),
    attention: JSON.stringify(attention),
    handlers: JSON.stringify(handlers),
    breakers: JSON.stringify(breakers),
    audit: String(audit[0]?.id),
  };
}

function written(note: ChangeNote): string {
  return `id: ${note.id}\nevent: change\ndata: ${JSON.stringify(note)}\n\n`;
}
