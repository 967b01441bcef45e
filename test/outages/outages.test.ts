import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { amount } from '../support/amount.ts';
import { outageMarkdown, outageTable, p95 } from './table.ts';

const PAGE = new URL('../../docs/outages.md', import.meta.url);

// A breaker opens a second after the first failure; what comes in that second is called, and called again when it is tried again. Then a
// message is tried every 3.2 s or more.
const OPENING_S = 1.2;
const CALLS_EACH = 2;
const PROBE_S = 3.2;
// Calls under way when it opens, the first probes, which are closer together, and the first five failures where messages are few.
const BESIDES = 64 + 10;

test('an outage kills no message, is noticed to be over within 5 s, and costs a bounded number of calls [X.10] [S4.2]', async () => {
  const rows = await outageTable(amount(0, 1) === 1);
  for (const { provider, traffic, perSecond, sent, delivered, dead, delaysMs, wasted, downMs } of rows) {
    const about = `${provider}, ${traffic}`;
    expect([delivered, dead], about).toEqual([sent, 0]);
    // Without a recovery it is the retries that take time, and those before it in its key.
    expect(p95(delaysMs), about).toBeLessThanOrEqual(downMs === 0 ? 10_000 : 5_000);
    if (downMs === 0) continue;
    const most = perSecond * OPENING_S * CALLS_EACH + downMs / 1_000 / PROBE_S + BESIDES;
    expect(wasted, about).toBeLessThanOrEqual(most);
  }
  const page = await readFile(PAGE, 'utf8');
  for (const line of outageMarkdown(rows).split('\n')) expect(page).toContain(line);
});
