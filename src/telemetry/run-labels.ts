import type { Labels } from './metric-sink.ts';

type RunOutcome = 'done' | 'retry' | 'dead';

/** The label sets of one handler and one type, made once: a sink finds what belongs to them without writing them out. */
export interface RunLabels {
  readonly handlerAndType: Labels;
  readonly handler: Labels;
  readonly type: Labels;
  /** With the type, by outcome. */
  readonly ended: Readonly<Record<RunOutcome, Labels>>;
  /** Without the type, by outcome. */
  readonly lasted: Readonly<Record<RunOutcome, Labels>>;
}

// Types made of ids are added up by the sink; only as many are remembered here.
const MOST_TYPES = 2_000;

/** Remembers the label sets by handler and type. */
export class RunLabelBook {
  readonly #byHandler = new Map<string, Map<string, RunLabels>>();
  readonly #onNew: (handler: string, labels: RunLabels) => void;

  /** `onNew` is told of each pair once, as long as there are not too many. */
  constructor(onNew: (handler: string, labels: RunLabels) => void) {
    this.#onNew = onNew;
  }

  of(handler: string, type: string): RunLabels {
    const byType = this.#byHandler.get(handler);
    const known = byType?.get(type);
    if (known) return known;
    const labels = runLabels(handler, type);
    if (byType === undefined) this.#byHandler.set(handler, new Map([[type, labels]]));
    else if (byType.size < MOST_TYPES) byType.set(type, labels);
    else return labels;
    this.#onNew(handler, labels);
    return labels;
  }
}

function runLabels(handler: string, type: string): RunLabels {
  return {
    handlerAndType: { handler, type },
    handler: { handler },
    type: { type },
    ended: byOutcome({ handler, type }),
    lasted: byOutcome({ handler }),
  };
}

function byOutcome(labels: Labels): RunLabels['ended'] {
  return {
    done: { ...labels, outcome: 'done' },
    retry: { ...labels, outcome: 'retry' },
    dead: { ...labels, outcome: 'dead' },
  };
}
