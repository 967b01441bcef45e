import type { Result } from '../result/result.ts';

/** What one topic found, or why it found nothing. */
export interface TopicReport {
  readonly name: string;
  readonly title: string;
  readonly startedAt: string;
  readonly endedAt: string;
  /** Processes that wanted a core, over a minute. */
  readonly load: { readonly before: number; readonly after: number };
  /** Versions and settings of servers, counts and rounds. */
  readonly settings: Readonly<Record<string, string | number>>;
  /** Of the packages it is compared with, or that it uses. */
  readonly packages: Readonly<Record<string, string>>;
  readonly results: readonly Result[];
  /** Absent where it ran to its end. */
  readonly failure?: string;
}

/** A run of some topics, or of all of them. What is shown anywhere is made from this. */
export interface Report {
  /** Small counts: shows that everything works, and is no claim about speed. */
  readonly isQuick: boolean;
  /** What repeats it. */
  readonly command: string;
  readonly machine: {
    readonly cores: number;
    readonly processor: string;
    readonly memoryGb: number;
    readonly system: string;
    readonly node: string;
  };
  readonly topics: readonly TopicReport[];
}

/** The exit code of a run: of one topic 1 when it failed or a goal is missed, of several when one has failed. */
export function exitCodeOf({ topics }: Report): 0 | 1 {
  if (topics.some(({ failure }) => failure !== undefined)) return 1;
  const isMissed = topics.some(({ results }) => results.some(isBelowGoal));
  return topics.length === 1 && isMissed ? 1 : 0;
}

function isBelowGoal({ verdicts }: Result): boolean {
  return verdicts.some(({ isReached }) => isReached === false);
}
