import { expect, test } from 'vitest';
import type { LedgerReport } from '../ledger.ts';
import { ledgerPage } from './ledger-page.ts';

const NASTY = `<script>alert("1")</script> & 'more'`;

const REPORT: LedgerReport = {
  name: 'chaos',
  about: NASTY,
  held: false,
  injected: [{ what: NASTY, hits: 1 }],
  checked: [{ what: NASTY, expected: NASTY, seen: NASTY, held: false }],
  problem: NASTY,
  tookMs: 61_000,
  ledger: {
    settings: { [NASTY]: NASTY },
    about: { Node: NASTY },
    startedAt: '2026-01-01T00:00:00.000Z',
    counts: {
      sent: 1_234,
      acknowledged: 1_230,
      effects: 2_466,
      expectedEffects: 2_468,
      suppressed: { sends: 1, arrivals: 2, lateResults: 3, replays: 4 },
      secondEffects: 5,
      lost: 2,
      invented: 0,
      orderViolations: 0,
      deadLetters: 7,
      poison: 7,
      rolledBack: 5,
    },
    faults: [{ name: NASTY, about: NASTY, injected: 2, hits: 0 }],
    marks: [
      { fault: NASTY, atMs: 500, lastedMs: 100, hits: 1, recoveredMs: 1_500 },
      { fault: NASTY, atMs: 900, lastedMs: 0, hits: 1, recoveredMs: undefined },
    ],
    timeline: { stepMs: 500, sent: [1, 5, 0], effects: [0, 7, 3] },
    samples: [0, 1_000, 2_000].map((atMs) => ({
      atMs,
      open: 1,
      rss: [50_000_000, 70_000_000],
      rows: 10,
      bytes: 4_096,
    })),
  },
};

test('the page of a ledger shows what was counted, and escapes whatever stands in it [X.11]', () => {
  const page = ledgerPage(REPORT);
  expect(page).not.toContain('<script');
  expect(page).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;');
  expect(page).toContain('Did not hold');
  for (const figure of ['1,234', '2,466', '1.5 s', '1 min 1 s', '100 MB']) expect(page, figure).toContain(figure);
});

test('the page needs nothing from elsewhere: no address, no script, and a policy that says so [X.11]', () => {
  const page = ledgerPage({ ...REPORT, held: true, problem: undefined });
  expect(page).not.toMatch(/https?:|src=|href=|url\(|@import/);
  expect(page).toContain(`default-src 'none'`);
  expect(page).toContain('Held: nothing lost, nothing twice');
});

test('of a drill that did not come so far, the page says why and draws nothing [X.11]', () => {
  const page = ledgerPage({ ...REPORT, checked: [], ledger: undefined, problem: 'it was stopped' });
  expect(page).toContain('Did not hold: it was stopped.');
  expect(page).not.toContain('<svg');
});
