import type { DrillLedger, LedgerFault, LedgerHttp } from '../drills/ledger.ts';
import { recoveriesOf } from '../drills/recoveries.ts';
import { formatDuration } from './duration.ts';
import type { Output } from './output.ts';

const MEGABYTE = 1_048_576;

/** The faults of a run: how often each was injected, how often it hit, and how long until work went on. */
export function showFaults(output: Output, { faults, marks }: DrillLedger): void {
  const { paint } = output;
  output.table<LedgerFault>(faults, [
    { title: 'FAULT', value: ({ name }) => name },
    { title: 'WHAT HAPPENS', value: ({ about }) => about, shrinkTo: 20 },
    { title: 'INJECTED', value: ({ injected }) => injected, align: 'right' },
    {
      title: 'HITS',
      value: ({ hits }) => hits,
      align: 'right',
      paint: (text, { hits }) => (hits > 0 ? text : paint.red(text)),
    },
    {
      title: 'WORK GOES ON AFTER',
      value: ({ name }) => recoveryText(marks, name),
      align: 'right',
    },
  ]);
}

/** `at most 2 s`, of all times it was injected. */
function recoveryText(marks: DrillLedger['marks'], name: string): string | undefined {
  const all = recoveriesOf(marks, name);
  const longest = all.at(-1);
  if (longest === undefined) return undefined;
  return all.length === 1 ? formatDuration(longest) : `${formatDuration(all[0] ?? 0)} to ${formatDuration(longest)}`;
}

/** What was counted, in the words of the promise. */
export function showCounts(output: Output, { counts, samples }: DrillLedger): void {
  const { suppressed } = counts;
  output.fields([
    ['sent', counts.sent],
    ['acknowledged', counts.acknowledged],
    ['effects', `${counts.effects} of ${counts.expectedEffects}`],
    [
      'repeats without effect',
      `${suppressed.sends} sends, ${suppressed.arrivals} messages, ${suppressed.lateResults} late results, ${suppressed.replays} replays`,
    ],
    ['second effects', counts.secondEffects],
    ['lost', counts.lost],
    ['order violations', counts.orderViolations],
    ['dead letters', `${counts.deadLetters}, poison ${counts.poison}`],
    ...httpFields(counts.http),
    ['memory of a worker', memoryText(samples)],
  ]);
}

/** What clients posted and got, where writes came over HTTP. */
function httpFields(http: LedgerHttp | undefined): [name: string, value: string | number][] {
  if (!http) return [];
  const { posts, rows, messages, secondRows, fromRedis, fromDatabase, refused, lost, different, audited } = http;
  return [
    ['posts', `${posts}, ${refused} refused, ${lost} without a response`],
    ['rows', `${rows}, ${secondRows} second ones; messages ${messages}`],
    ['stored replies', `${fromRedis} from Redis, ${fromDatabase} from the database`],
    ['different replies', different],
    ['posted again at the end', `${audited} keys`],
  ];
}

/** What the largest worker took at first, and at most: what only grows is kept for nobody. */
function memoryText(samples: DrillLedger['samples']): string | undefined {
  const largest = samples.map(({ rss }) => Math.max(0, ...rss)).filter((bytes) => bytes > 0);
  const [first] = largest;
  if (first === undefined) return undefined;
  const [atFirst, atMost, atLast] = [first, Math.max(...largest), largest.at(-1) ?? 0].map((bytes) =>
    Math.round(bytes / MEGABYTE),
  );
  return `${atFirst} MB at first, ${atMost} MB at most, ${atLast} MB at last`;
}
