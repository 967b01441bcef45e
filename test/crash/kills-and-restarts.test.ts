import { expect, test } from 'vitest';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { storm } from './storm.ts';

test(
  'kills, pauses and restarts of the database lose no message, repeat no effect and keep the order of each key [X.2] [X.3] [S4.7]',
  { timeout: 600_000 },
  async () => {
    const kills = amount(6, 36);
    const report = await storm({
      from: 'machine',
      messages: amount(2_500, 20_000),
      keys: 500,
      kills,
      pauseEvery: 6,
      restarts: new Map([
        [kills / 3, 'immediate'],
        [(kills / 3) * 2, 'fast'],
      ]),
    });
    console.log(`crash ledger: ${JSON.stringify(report)}`);
    expect(report.ledger).toMatchObject({ lost: 0, second: 0, outOfOrder: 0 });
  },
);

needs('embeddedPostgres')(
  'a few of them lose, repeat and reorder nothing on the embedded PostgreSQL either [X.2] [X.3]',
  { timeout: 600_000 },
  async ({ embeddedPostgres: _isThere }) => {
    await storm({
      from: 'package',
      messages: 2_000,
      keys: 100,
      kills: 3,
      pauseEvery: 3,
      restarts: new Map([[2, 'immediate']]),
    });
  },
);
