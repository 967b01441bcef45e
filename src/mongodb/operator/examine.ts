import type { Finding } from '../../operator/system-record.ts';
import type { OperatorParts } from './operator-parts.ts';

/** Indexes each collection must have, by its role. */
const INDEXES = {
  outbox: ['holdfast_line', 'holdfast_key', 'holdfast_ended', 'holdfast_idempotency'],
  inbox: ['holdfast_line', 'holdfast_key', 'holdfast_ended'],
} as const;

/** Whether the database is as it should be, in a fixed order. */
export async function examineMongodb(parts: OperatorParts): Promise<readonly Finding[]> {
  const { db, boxes } = parts;
  const hello = await db.admin().command({ hello: 1 });
  const hasTransactions = hello['setName'] !== undefined || hello['msg'] === 'isdbgrid';
  const findings: Finding[] = [
    hasTransactions
      ? ok(`replica set ${String(hello['setName'] ?? 'of a sharded cluster')}`)
      : {
          level: 'problem',
          title: 'this is a single server: it has no transactions, and the outbox and the inbox need them',
          advice: 'start mongod with --replSet and run rs.initiate(); one member will do',
        },
  ];
  const names = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  for (const { name, rows } of boxes) {
    const collection = rows.collectionName;
    if (!names.has(collection)) {
      findings.push({
        level: 'warning',
        title: `there is no collection ${collection}`,
        advice: `a service makes it at its first start, or by prepare(); without an ${name} nothing is missing`,
      });
      continue;
    }
    const indexes = new Set((await rows.indexes()).map((index) => index.name));
    const missing = INDEXES[name].filter((index) => !indexes.has(index));
    findings.push(
      missing.length === 0
        ? ok(`the collection ${collection} has its indexes`)
        : {
            level: 'problem',
            title: `the collection ${collection} lacks ${missing.join(', ')}`,
            advice: 'start a service of this release on it, or call prepare() of its outbox or inbox',
          },
    );
  }
  return findings;
}

function ok(title: string): Finding {
  return { level: 'ok', title, advice: undefined };
}
