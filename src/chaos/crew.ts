import type { Readable } from 'node:stream';
import { type DrillChild, type DrillProgram, startChild } from './child.ts';
import type { WorkerNews, WorkerOrder } from './child-line.ts';
import { Journal, type JournalWord } from './journal.ts';
import { HANDLERS } from './step.ts';

/** A worker in a process of its own, and what it wrote down. */
export interface Member {
  readonly name: string;
  readonly child: DrillChild;
  readonly journal: Journal;
  /** In bytes, as it told last. */
  rss: number;
  /** Where it listens, if it does. */
  port: number | undefined;
  /** The drill has ended it. */
  isDismissed: boolean;
}

/** Which processes a crew is made of, and how each is started. */
export interface CrewAbout {
  readonly program: DrillProgram;
  /** Their names begin with it. */
  readonly initial: string;
  /** All but its name. */
  readonly options: object;
}

/** Processes of one kind: the workers of a drill, its relays, or its API processes. */
export class Crew {
  /** Those at work, or on their way to it. */
  readonly members: Set<Member> = new Set();
  readonly #everyone: Member[] = [];
  readonly #about: CrewAbout;
  readonly #cwd: string;
  #lastProblem = '';

  constructor(about: CrewAbout, cwd: string) {
    this.#about = about;
    this.#cwd = cwd;
  }

  /** Starts a worker, and resolves when it is at work. */
  async hire(signal: AbortSignal): Promise<Member> {
    const { program, initial, options } = this.#about;
    const name = `${initial}${this.#everyone.length + 1}`;
    const child = startChild(program, { ...options, name }, this.#cwd);
    const journal = new Journal(child.process.stdio[4] as Readable);
    const member: Member = { name, child, journal, rss: 0, port: undefined, isDismissed: false };
    this.#everyone.push(member);
    this.members.add(member);
    const ready = Promise.withResolvers<void>();
    child.process.on('message', (told) => {
      const news = told as WorkerNews;
      if (news.kind === 'ready') {
        member.port = news.port;
        ready.resolve();
      } else if (news.kind === 'memory') member.rss = news.rss;
      else this.#lastProblem = news.problem;
    });
    void child.ended.then(() =>
      ready.reject(new Error(`a worker ended before it was ready: ${child.said() || this.#lastProblem}`)),
    );
    const stopped = Promise.withResolvers<never>();
    const onAbort = (): void => stopped.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await Promise.race([ready.promise, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    return member;
  }

  /** Ends it at once. What it had in its hand is left as it is. */
  async kill(member: Member): Promise<void> {
    this.members.delete(member);
    member.isDismissed = true;
    member.child.process.kill('SIGKILL');
    await member.child.ended;
  }

  /** Those in the middle of the work of a handler that commits by itself. */
  get busy(): readonly Member[] {
    return [...this.members].filter(isBusy);
  }

  order(member: Member, order: WorkerOrder): void {
    if (member.child.process.connected) member.child.process.send(order, () => undefined);
  }

  /** Counted over all journals, those of the dead too. */
  count(word: JournalWord): number {
    return this.#everyone.reduce((sum, { journal }) => sum + journal.counts[word], 0);
  }

  /** Those who ended by themselves, with what they said. */
  get fallen(): readonly string[] {
    return this.#everyone
      .filter(({ child, isDismissed }) => !isDismissed && (child.process.exitCode ?? child.process.signalCode) !== null)
      .map(
        ({ name, child }) => `${name}: ${child.said() || String(child.process.exitCode ?? child.process.signalCode)}`,
      );
  }

  /** Lets all end after what they have begun. */
  async stop(): Promise<void> {
    const all = [...this.members];
    for (const member of all) {
      member.isDismissed = true;
      this.order(member, { do: 'stop' });
    }
    await Promise.all(all.map(({ child }) => child.ended));
    this.members.clear();
  }

  /** Ends all at once, those too that stand still. May be called twice. */
  async remove(): Promise<void> {
    for (const member of this.#everyone) {
      member.isDismissed = true;
      member.child.process.kill('SIGKILL');
    }
    await Promise.all(this.#everyone.map(({ child }) => child.ended));
  }
}

/** It has begun more than one message and not finished them: not all of them can be just about to be finished. */
export function isBusy({ journal }: Member): boolean {
  return inHand({ journal }).length > 1;
}

/** What it has begun, of the handler that commits by itself, and not finished. */
export function inHand({ journal }: Pick<Member, 'journal'>): readonly string[] {
  return [...journal.inFlight].filter((about) => about.startsWith(HANDLERS[0]));
}
