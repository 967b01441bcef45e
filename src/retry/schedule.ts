import { OptionCheck } from '../kernel/check-options.ts';
import { compileExpression } from './expression.ts';

/**
 * How a delay is spread so that many clients do not come back together. All kinds stay within the cap and still spread
 * when the cap is reached: `full` picks from [0, ceiling], `equal` from [ceiling/2, ceiling], `decorrelated` from
 * [base, three times the last delay].
 */
export type Jitter = (typeof JITTERS)[number];

export const JITTERS = ['full', 'equal', 'decorrelated', 'none'] as const;

/** A schedule as plain data: what a database row can hold and `envelope` prints. */
export type ScheduleSpec =
  | {
      readonly kind: 'exponential';
      readonly baseMs: number;
      readonly factor: number;
      readonly maxMs: number;
      readonly jitter: Jitter;
    }
  | { readonly kind: 'constant'; readonly delayMs: number }
  | { readonly kind: 'steps'; readonly stepsMs: readonly number[]; readonly tailMs?: number }
  | { readonly kind: 'expression'; readonly expression: string; readonly maxMs: number };

const SCHEDULE_KINDS = ['exponential', 'constant', 'steps', 'expression'] as const satisfies ScheduleSpec['kind'][];

/** What one delay is computed from. The same draw gives the same delay. */
export interface Draw {
  /** In [0, 1]: 1 gives the longest delay the jitter allows. */
  readonly random: number;
  /** The delay before, 0 for the first; only `decorrelated` looks at it. */
  readonly lastDelayMs: number;
}

/** A pure schedule: the delay before retry number `retried` (0 is the first retry), or `undefined` to stop. */
export interface Schedule {
  readonly spec: ScheduleSpec;
  /** Whole milliseconds, never negative, never above the cap. */
  delayMs(retried: number, draw: Draw): number | undefined;
}

/** The longest delay a schedule may ask for when it names none: ten years. Above it arithmetic on dates starts to fail. */
export const LONGEST_DELAY_MS = 315_360_000_000;

const DELAY = `write milliseconds from 0 to ${LONGEST_DELAY_MS} (ten years)`;

/** `base`, `base × factor`, `base × factor²` … up to `maxMs`. Defaults: factor 2, full jitter. */
export function exponential(options: { baseMs: number; maxMs: number; factor?: number; jitter?: Jitter }): Schedule {
  const { baseMs, maxMs, factor = 2, jitter = 'full' } = options;
  const check = new OptionCheck('exponential()');
  check.known(options, ['baseMs', 'maxMs', 'factor', 'jitter']);
  check.number('baseMs', baseMs, { min: 0, max: LONGEST_DELAY_MS, write: DELAY });
  check.number('maxMs', maxMs, { min: 0, max: LONGEST_DELAY_MS, write: DELAY });
  check.number('factor', factor, { min: 1, max: 1000, write: 'write a number from 1 to 1000, usually 2' });
  if (baseMs > maxMs) check.refuse('baseMs', baseMs, `make it at most maxMs, which is ${maxMs}`);
  check.word('jitter', jitter, JITTERS);
  check.done();
  const [base, cap] = [Math.ceil(baseMs), Math.ceil(maxMs)];
  return {
    spec: { kind: 'exponential', baseMs: base, factor, maxMs: cap, jitter },
    delayMs: (retried, draw) => spread(jitter, ceilingMs(base, factor, cap, retried), base, cap, draw),
  };
}

/** The same delay every time. */
export function constant(delayMs: number): Schedule {
  const check = new OptionCheck('constant()');
  check.number('delayMs', delayMs, { min: 0, max: LONGEST_DELAY_MS, write: DELAY });
  check.done();
  const whole = Math.ceil(delayMs);
  return { spec: { kind: 'constant', delayMs: whole }, delayMs: () => whole };
}

/** The listed delays one after the other, then `tailMs` for ever, or the end when there is no tail. */
export function steps(stepsMs: readonly number[], options: { tailMs?: number } = {}): Schedule {
  const check = new OptionCheck('steps()');
  if (!Array.isArray(stepsMs) || stepsMs.length === 0) check.refuse('stepsMs', stepsMs, 'write at least one delay');
  else stepsMs.forEach((ms, i) => check.number(`stepsMs[${i}]`, ms, { min: 0, max: LONGEST_DELAY_MS, write: DELAY }));
  check.known(options, ['tailMs']);
  if (options.tailMs !== undefined)
    check.number('tailMs', options.tailMs, { min: 0, max: LONGEST_DELAY_MS, write: DELAY });
  check.done();
  const whole = stepsMs.map(Math.ceil);
  const tail = options.tailMs === undefined ? undefined : Math.ceil(options.tailMs);
  return {
    spec: { kind: 'steps', stepsMs: whole, ...(tail === undefined ? {} : { tailMs: tail }) },
    delayMs: (retried) => whole[retried] ?? tail,
  };
}

/**
 * A delay in milliseconds written as text, with `retried` counting from 0: `10000 * pow(2, retried)`. A bad expression
 * is refused here, with the position of the error. A result that is not a number, negative or above `maxMs` (default:
 * one day) is brought into range.
 */
export function expression(text: string, options: { maxMs?: number } = {}): Schedule {
  const maxMs = options.maxMs ?? 86_400_000;
  const check = new OptionCheck('expression()');
  check.known(options, ['maxMs']);
  check.number('maxMs', maxMs, { min: 0, max: LONGEST_DELAY_MS, write: DELAY });
  check.done();
  const compiled = compileExpression(text);
  return {
    spec: { kind: 'expression', expression: text, maxMs },
    delayMs: (retried) => {
      const value = compiled.evaluate(retried);
      // Not a number means the author's formula has no answer there (0/0); the cap is the careful choice.
      return Number.isNaN(value) ? maxMs : Math.ceil(Math.min(maxMs, Math.max(0, value)));
    },
  };
}

/** Rebuilds a schedule from its plain data, checking it again: rows come from databases, and hands reach into those. */
export function scheduleOf(spec: ScheduleSpec): Schedule {
  switch (spec.kind) {
    case 'exponential':
      return exponential({ baseMs: spec.baseMs, maxMs: spec.maxMs, factor: spec.factor, jitter: spec.jitter });
    case 'constant':
      return constant(spec.delayMs);
    case 'steps':
      return steps(spec.stepsMs, spec.tailMs === undefined ? {} : { tailMs: spec.tailMs });
    case 'expression':
      return expression(spec.expression, { maxMs: spec.maxMs });
    default: {
      const check = new OptionCheck('scheduleOf()');
      check.word('kind', (spec satisfies never as { kind?: unknown }).kind, SCHEDULE_KINDS);
      check.done();
      return spec;
    }
  }
}

/** `base × factor^retried`, capped. The power may overflow to Infinity, which the cap absorbs; only 0 × Infinity would not. */
function ceilingMs(baseMs: number, factor: number, maxMs: number, retried: number): number {
  return baseMs === 0 ? 0 : Math.min(maxMs, baseMs * factor ** retried);
}

function spread(jitter: Jitter, ceiling: number, baseMs: number, maxMs: number, draw: Draw): number {
  switch (jitter) {
    case 'none':
      return Math.ceil(ceiling);
    case 'full':
      return Math.ceil(ceiling * draw.random);
    case 'equal':
      return Math.ceil(ceiling / 2 + (ceiling / 2) * draw.random);
    case 'decorrelated': {
      // The upper end is clamped before the draw, not the result after it: otherwise two of three clients would meet
      // at exactly the cap.
      const upper = Math.min(maxMs, Math.max(baseMs, (draw.lastDelayMs || baseMs) * 3));
      return Math.ceil(baseMs + (upper - baseMs) * draw.random);
    }
    default:
      return jitter satisfies never;
  }
}
