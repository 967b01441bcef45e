import type { Bulk, Operator } from 'holdfast/operator';
import type { Pool } from 'pg';

interface Replayed {
  readonly operator: Operator;
  readonly pool: Pool;
  readonly bulk: Bulk;
  /** How many of the kills hit a process in the middle of a transaction. */
  readonly hits: number;
  readonly kills: number;
  readonly perSecond: number;
  readonly say: (line: string) => void;
}

/** Whether each item had its effect once, and is told to have ended as it did. Tells what was found. */
export async function inspectReplay(replayed: Replayed): Promise<boolean> {
  const { pool, bulk, hits, kills, perSecond, say } = replayed;
  const count = async (statement: string): Promise<number> =>
    Number((await pool.query<{ n: string }>(statement, statement.includes('$1') ? [bulk.id] : [])).rows[0]?.n);
  const broken = await count('select count(*) as n from still_broken');
  const mended = bulk.total - broken;
  const times = 'select message, count(*) as times from effect group by message';
  const checks: readonly (readonly [what: string, found: number, expected: number])[] = [
    ['items that had their effect once', await count(`select count(*) as n from (${times}) t where times = 1`), mended],
    ['items that had it more than once', await count(`select count(*) as n from (${times}) t where times > 1`), 0],
    [
      'effects of items that failed again',
      await count('select count(*) as n from effect join still_broken using (message)'),
      0,
    ],
    ['succeeded', bulk.counts.succeeded, mended],
    ['failed again', bulk.counts.failed, broken],
    ['listed as failed again, and right', await listedAndRight(replayed), broken],
    ['skipped, dropped, discarded or left', bulk.total - bulk.counts.succeeded - bulk.counts.failed, 0],
    [
      'replayed more than once, by the audit',
      await count(`select count(*) as n from (select from holdfast.audit where verb = 'replay'
      group by message_id, handler having count(*) > 1) a`),
      0,
    ],
    [
      'replayed, by the audit',
      await count(`select count(*) as n from holdfast.audit where verb = 'replay'`),
      bulk.total,
    ],
  ];
  for (const [what, found, expected] of checks) {
    say(
      `${(found === expected ? 'ok' : 'WRONG').padEnd(6)} ${what}: ${found}${found === expected ? '' : `, should be ${expected}`}`,
    );
  }
  const most =
    await count(`select coalesce(max(n), 0) as n from (select count(*) as n from holdfast.bulk_item where bulk = $1
    group by date_trunc('second', started_at)) s`);
  // A second may have a quarter of another's share: what was not used within 250 ms is lost.
  const isPaced = most <= perSecond * 1.3;
  say(`${isPaced ? 'ok' : 'WRONG'}     most begun within a second: ${most}, the pace is ${perSecond}`);
  say(
    `${hits > 0 ? 'ok' : 'WRONG'}     ${kills} processes were killed, ${hits} of them in the middle of a transaction`,
  );
  return checks.every(([, found, expected]) => found === expected) && isPaced && hits > 0;
}

/** Those that the list of failed items has and that were to fail. */
async function listedAndRight({ operator, pool, bulk }: Replayed): Promise<number> {
  const { rows } = await pool.query<{ message: string }>('select message from still_broken');
  const expected = new Set(rows.map(({ message }) => message));
  let cursor: string | undefined;
  do {
    const page = await operator.bulkItems(bulk.id, { outcome: 'failed', limit: 1_000, cursor });
    for (const { key } of page.items) expected.delete(key ?? '');
    cursor = page.next;
  } while (cursor !== undefined);
  return rows.length - expected.size;
}
