import type { Effects } from '../kernel/effects.ts';
import { type ToolRefusal, refusal } from './tool.ts';

/** What bounds the writes of agents. */
export interface WriteLimits {
  /** The most dead letters one call may change. */
  readonly maxItems: number;
  readonly writesPerMinute: number;
  /** How long a preview can be acted upon. */
  readonly previewMs: number;
}

/** What a preview stands for: this caller, this tool with these arguments, and the rows as they were seen. */
export interface Previewed {
  readonly actor: string;
  readonly tool: string;
  /** The arguments without token and reason, in a fixed order. */
  readonly request: string;
  /** The state of everything the write would touch. */
  readonly state: string;
}

interface Kept extends Previewed {
  readonly untilMs: number;
}

const MINUTE_MS = 60_000;
/** A caller that only ever previews must not fill the memory. */
const MOST_PREVIEWS = 1_000;

/**
 * Keeps the previews that may still be acted upon, each once, and counts writes. In memory: a restart forgets every token, and a
 * token means nothing to another process.
 */
export class WriteGuard {
  readonly limits: WriteLimits;
  readonly #effects: Pick<Effects, 'monoMs'>;
  readonly #newToken: () => string;
  readonly #previews = new Map<string, Kept>();
  readonly #writes: number[] = [];

  constructor(limits: WriteLimits, effects: Pick<Effects, 'monoMs'>, newToken: () => string) {
    this.limits = limits;
    this.#effects = effects;
    this.#newToken = newToken;
  }

  /** A token for what was seen. */
  preview(previewed: Previewed): string {
    const now = this.#effects.monoMs();
    for (const [token, { untilMs }] of this.#previews) if (untilMs <= now) this.#previews.delete(token);
    const [oldest] = this.#previews.keys();
    if (this.#previews.size >= MOST_PREVIEWS && oldest !== undefined) this.#previews.delete(oldest);
    const token = this.#newToken();
    this.#previews.set(token, { ...previewed, untilMs: now + this.limits.previewMs });
    return token;
  }

  /** Takes the token, whatever comes of it: each is good for one try. Answers why it does not stand for this write, if so. */
  redeem(token: string, wanted: Previewed): ToolRefusal | undefined {
    const again = 'call the tool again without preview_token to see what would happen now, and use the new token';
    const kept = this.#previews.get(token);
    this.#previews.delete(token);
    if (kept === undefined) {
      return refusal('this preview_token is not known: it was used, has run out, or the server was restarted', again);
    }
    if (kept.untilMs <= this.#effects.monoMs()) return refusal('this preview_token has run out', again);
    if (kept.actor !== wanted.actor) return refusal('this preview_token was given to another caller', again);
    if (kept.tool !== wanted.tool || kept.request !== wanted.request) {
      return refusal('this preview_token stands for another effect than what is asked for now', again);
    }
    if (kept.state !== wanted.state) {
      return refusal('what it would change has changed since the preview; nothing was done', again);
    }
    return undefined;
  }

  /** Why a write must wait, if it must. Counts nothing. */
  overLimit(): ToolRefusal | undefined {
    const now = this.#effects.monoMs();
    while ((this.#writes[0] ?? Infinity) <= now - MINUTE_MS) this.#writes.shift();
    const { writesPerMinute } = this.limits;
    if (this.#writes.length < writesPerMinute) return undefined;
    const waitS = Math.ceil(((this.#writes[0] ?? now) + MINUTE_MS - now) / 1_000);
    return refusal(
      `this server allows agents ${writesPerMinute} writes a minute, and they are used up`,
      `wait ${waitS} seconds and try again; plan_bulk and start_bulk change many in two writes`,
    );
  }

  countWrite(): void {
    this.#writes.push(this.#effects.monoMs());
  }
}
