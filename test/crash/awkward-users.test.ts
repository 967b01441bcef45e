import { expect, test } from 'vitest';
import { amount } from '../support/amount.ts';
import { awkwardStorm } from './awkward-storm.ts';

test(
  'handlers that misbehave in every way, kills, stops and an operator at random lose no message, repeat no effect, keep the order of each key and leave nothing stuck [X.2] [X.3] [X.4] [S4.7]',
  { timeout: 1_500_000 },
  async () => {
    const report = await awkwardStorm({
      messages: amount(800, 50_000),
      keys: amount(160, 1_000),
      rounds: amount(5, 50),
    });
    console.log(`ledger of awkward users: ${JSON.stringify(report)}`);
    expect(report.ledger).toMatchObject({ lost: 0, second: 0, outOfOrder: 0, escaped: 0, open: 0 });
  },
);
