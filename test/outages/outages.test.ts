import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { amount } from '../support/amount.ts';
import { type OutageRow, outageMarkdown, outageTable, p95, TABLE_ROWS } from './table.ts';

const PAGE = new URL('../../docs/outages.md', import.meta.url);

// A breaker opens a second after the first failure; what comes in that second is called, and called again when it is tried again. Then a
// message is tried every 3.2 s or more.
const OPENING_S = 1.2;
const CALLS_EACH = 2;
const PROBE_S = 3.2;
// Calls under way when it opens, the first probes, which are closer together, and the first five failures where messages are few.
const BESIDES = 64 + 10;
// How far chance may take the failures of a message from their average.
const CHANCE = 1.3;

/** How many calls each outage may cost that fail. */
function mostWasted({ perSecond, downMs, failuresEach, sent, runs }: OutageRow): number {
  const downS = downMs / 1_000;
  if (failuresEach === Infinity) return perSecond * OPENING_S * CALLS_EACH + downS / PROBE_S + BESIDES;
  return (downMs === 0 ? sent / runs : perSecond * downS) * failuresEach * CHANCE + BESIDES;
}

test('an outage kills no message, is noticed to be over within 5 s, and costs a bounded number of calls [X.10] [S4.2]', async () => {
  const isFull = amount(0, 1) === 1;
  const rows = await outageTable(isFull);
  for (const row of rows) {
    const { provider, traffic, sent, delivered, dead, delaysMs, wasted, downMs } = row;
    const about = `${provider}, ${traffic}`;
    expect([delivered, dead], about).toEqual([sent, 0]);
    // Without a recovery it is the retries that take time, and those before it in its key.
    expect(p95(delaysMs), about).toBeLessThanOrEqual(downMs === 0 ? 10_000 : 5_000);
    expect(wasted, about).toBeLessThanOrEqual(mostWasted(row));
  }
  const [, figures = ''] = (await readFile(PAGE, 'utf8')).split('## Figures\n');
  const shown = figures.split('\n').filter((line) => line.startsWith('|'));
  const computed = outageMarkdown(rows).split('\n');
  expect(shown.slice(0, computed.length)).toEqual(computed);
  expect(shown).toHaveLength(isFull ? computed.length : TABLE_ROWS + 2);
});
