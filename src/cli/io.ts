import type { Effects } from '../kernel/effects.ts';

/** What a command may do to the world around it. Handed in, so that a test can stand in for the terminal. */
export interface Io {
  /** Writes what was asked for. Text as it is, line ends included. */
  readonly out: (text: string) => void;
  /** Writes what is said beside it: problems, progress, questions. */
  readonly err: (text: string) => void;
  /** What `out` writes is seen by a person. */
  readonly isTty: boolean;
  /** A person can be asked: both the question and the answer have a terminal. */
  readonly canAsk: boolean;
  /** Columns of the terminal; `Infinity` where there is none. */
  readonly width: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** `user@host`, for the audit. */
  readonly user: string;
  /** `host:pid`, for people who look for the process. */
  readonly processName: string;
  readonly effects: Effects;
  /** Shows the question and gives the line that was typed. */
  ask(question: string): Promise<string>;
  /** Resolves when whoever writes to standard input has ended that. */
  inputEnd(): Promise<void>;
  /** Calls back at each SIGINT and SIGTERM instead of ending the process; the answer undoes that. */
  onSignal(heard: (signal: 'SIGINT' | 'SIGTERM') => void): () => void;
  /** Ends the process at once, whatever still runs. */
  exit(code: number): never;
}
