/** One delivery, for everybody. */
export interface Job {
  readonly url: string;
  readonly body: string;
}

/** A worker in a process of its own. */
interface RunningWorker {
  /** The ways in which applications publish one message, by name; each resolves when it is safe. */
  readonly publish: Readonly<Record<string, (job: Job) => Promise<void>>>;
  /** The processor time it has used, in milliseconds. */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

/** Somebody who delivers. */
export interface Contestant {
  readonly name: string;
  /** Stores messages in bulk; with a delay they are not due in the bench. */
  fill(jobs: readonly Job[], delayMs?: number): Promise<void>;
  start(concurrency: number): Promise<RunningWorker>;
  /** True once everything that is due is delivered and written as such. */
  isDrained(): Promise<boolean>;
  close(): Promise<void>;
}

/** So often a message is tried again, and so long after each time. */
export const RETRIES = 3;
export const BACKOFF_MS = 1_000;
