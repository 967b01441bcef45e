import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { figure } from '../../src/drills/page/figures.ts';
import type { LedgerReport } from '../../src/drills/ledger.ts';

const PAGE = readFileSync(join(ROOT, 'docs/drills.md'), 'utf8');

function stored(name: string): string {
  return readFileSync(join(ROOT, 'docs/reports', name), 'utf8');
}

test.each(['http', 'rabbitmq', 'kafka'])(
  'the stored run of 10,000 writes via %s lost and doubled nothing, and docs/drills.md has its numbers [S1.12]',
  (via) => {
    const text = stored(`drill-load-${via}.json`);
    const { drills } = JSON.parse(text) as { readonly drills: readonly [LedgerReport] };
    const [{ held, checked, ledger }] = drills;
    const { counts, faults } = ledger ?? expect.fail('there is no ledger');
    const http = counts.http ?? expect.fail('it did not write over HTTP');
    expect({ held, failed: checked.filter((one) => !one.held) }).toEqual({ held: true, failed: [] });
    expect(counts).toMatchObject({ acknowledged: 10_000, lost: 0, secondEffects: 0, effects: counts.expectedEffects });
    expect(http).toMatchObject({ rows: 10_000, messages: 10_000, audited: 10_000, secondRows: 0, different: 0 });
    expect(http.fromRedis).toBeGreaterThan(0);
    for (const { name, hits } of faults) expect(hits, name).toBeGreaterThan(0);
    const row =
      PAGE.split('\n').find((line) => line.startsWith(`| [\`${via}\`](reports/drill-load-${via}.html)`)) ?? '';
    const cells = row.split('|').map((cell) => cell.trim());
    expect(cells).toEqual(
      expect.arrayContaining([
        figure(http.posts),
        `${figure(http.fromRedis)} + ${figure(http.fromDatabase)}`,
        `${figure(counts.effects)} of ${figure(counts.expectedEffects)}`,
      ]),
    );
    for (const page of [text, stored(`drill-load-${via}.html`)])
      for (const secret of ['/work/', '/tmp/', '/root/', '/home/']) expect(page).not.toContain(secret);
  },
);
