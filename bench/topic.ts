import type { Result } from './result/result.ts';

/** What a topic is asked for. */
export interface TopicCall {
  /** The measures that are named; none: those it has for usual. */
  readonly measures: readonly string[];
  /** Smaller counts: shows that everything works, and roughly how fast. */
  readonly isQuick: boolean;
  /** The values of its own options. */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Progress, for a person who waits. Goes beside the results, so that --json can be piped on. */
  readonly say: (line: string) => void;
}

/** What it found, and what decided about it. */
interface TopicOutcome {
  /** Versions of servers, their settings, counts and rounds. */
  readonly settings: Readonly<Record<string, string | number>>;
  readonly results: readonly Result[];
}

/** Something that is measured by itself, on servers of its own that are gone when it ends. */
export interface Topic {
  readonly name: string;
  readonly title: string;
  /** What can be asked for by name. */
  readonly measures: readonly string[];
  /** Options beside --quick and --json, each with a value. */
  readonly options: readonly string[];
  /** About how long it takes on two cores. */
  readonly minutes: { readonly full: number; readonly quick: number };
  /** The packages whose versions matter. */
  readonly packages: readonly string[];
  run(call: TopicCall): Promise<TopicOutcome>;
}
