import type { SystemRecord, TableHealth, WorkerRecord } from '../../operator/system-record.ts';
import { examineMongodb } from './examine.ts';
import { joinedAt, ownersOf } from './live-owners.ts';
import { knownHandlers, type OperatorParts, serverTime } from './operator-parts.ts';

/** The machinery. */
export async function readSystem(parts: OperatorParts): Promise<SystemRecord> {
  const { db, version } = parts;
  const { version: server } = await db.admin().command({ buildInfo: 1 });
  return {
    at: await serverTime(parts),
    version,
    // Collections have no version that is migrated.
    schema: { name: db.databaseName, version: 0, expected: 0 },
    server: `MongoDB ${String(server)}`,
    isPaused: false,
    workers: await workersOf(parts),
    tables: await tablesOf(parts),
    oldestSnapshot: undefined,
    historySince: undefined,
    findings: await examineMongodb(parts),
  };
}

async function workersOf(parts: OperatorParts): Promise<readonly WorkerRecord[]> {
  const owners = await ownersOf(parts);
  return (await knownHandlers(parts)).flatMap(({ id, service, name }) => {
    const owner = owners.get(id);
    if (!owner) return [];
    return [
      {
        id: owner.owner,
        name: `${name} of ${service}`,
        service,
        generation: undefined,
        joinedAt: joinedAt(owner.owner),
        expiresAt: owner.until,
        units: 1,
        running: [],
        isHousekeeper: false,
      },
    ];
  });
}

async function tablesOf({ db, boxes, records, audit }: OperatorParts): Promise<readonly TableHealth[]> {
  const there = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  const ours = [...boxes.map(({ rows }) => rows.collectionName), records.collectionName, audit.collectionName];
  const tables: TableHealth[] = [];
  for (const table of ours.filter((name) => there.has(name))) {
    const [found] = await db
      .collection(table)
      .aggregate<{ readonly storageStats: Readonly<Record<string, number>> }>([{ $collStats: { storageStats: {} } }])
      .toArray();
    const { count = 0, storageSize = 0, totalIndexSize = 0 } = found?.storageStats ?? {};
    tables.push({
      table,
      rows: count,
      deadRows: 0,
      bytes: storageSize,
      indexBytes: totalIndexSize,
      vacuumedAt: undefined,
    });
  }
  return tables;
}
