import type { Io } from './io.ts';

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  violet: [35, 39],
  slate: [37, 39],
  grey: [90, 39],
} as const;

/** Colours text, or leaves it as it is. */
export type Paint = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

/** Colours for a person at a terminal who has not asked for none (NO_COLOR, TERM=dumb); otherwise plain text. */
export function paintFor({ isTty, env }: Pick<Io, 'isTty' | 'env'>): Paint {
  const isPlain = !isTty || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  const paints = Object.entries(CODES).map(([name, [on, off]]) => [
    name,
    (text: string) => (isPlain ? text : `\u001B[${on}m${text}\u001B[${off}m`),
  ]);
  return Object.fromEntries(paints) as Paint;
}

/** The colour of each state, the same in the console: never alone, the word stands there too. */
const STATE_PAINT: Readonly<Record<string, keyof typeof CODES>> = {
  pending: 'slate',
  ready: 'slate',
  queued: 'slate',
  selected: 'slate',
  planned: 'slate',
  in_flight: 'blue',
  running: 'blue',
  processing: 'blue',
  started: 'blue',
  canary: 'blue',
  scheduled: 'yellow',
  retrying: 'yellow',
  waiting: 'yellow',
  retry_wait: 'yellow',
  probing: 'yellow',
  paused: 'yellow',
  unknown: 'yellow',
  delivered: 'green',
  succeeded: 'green',
  completed: 'green',
  done: 'green',
  closed: 'green',
  failed: 'red',
  blocked: 'red',
  dlq: 'red',
  parked: 'violet',
  discarded: 'grey',
  cancelled: 'grey',
  skipped: 'grey',
  dropped: 'grey',
};

/** The text in the colour of a state; as it is where the state has none. */
export function paintState(paint: Paint, state: string, text: string = state): string {
  const name = STATE_PAINT[state];
  return name === undefined ? text : paint[name](text);
}
