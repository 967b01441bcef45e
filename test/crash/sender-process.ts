// node sender-process.ts <options as JSON>
//
// Sends as many messages as its parent has granted, in transactions of a few, over several connections. A key belongs to
// one connection, so that its messages are committed one after the other. Some transactions are rolled back.
import { holdfast, outgoing } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Client } from 'pg';
import { SCHEMA, stepTaken } from './crash-events.ts';

/** How the sender of the crash test is started. */
export interface SenderOptions {
  readonly url: string;
  readonly keys: number;
  readonly connections: number;
}

/** From the parent: how many messages in all it may have sent. */
export interface SenderGrant {
  readonly upTo: number;
}

/** To the parent: how many messages are committed. */
export interface SenderReport {
  readonly committed: number;
  readonly rolledBack: number;
}

const PER_TRANSACTION = 5;
/** Every so many transactions one is rolled back. */
const ROLLED_BACK_EVERY = 20;

const options = JSON.parse(process.argv[2] ?? '') as SenderOptions;
const hf = holdfast({ service: 'crash', store: postgres({ schema: SCHEMA }) });
let granted = 0;
let taken = 0;
let committed = 0;
let rolledBack = 0;
let transactions = 0;
process.on('message', ({ upTo }: SenderGrant) => (granted = upTo));
process.on('disconnect', () => process.exit());

interface Line {
  readonly key: string;
  sent: number;
}

await Promise.all(Array.from({ length: options.connections }, (_, i) => sendFrom(linesOf(i))));

function linesOf(connection: number): Line[] {
  const all = Array.from({ length: options.keys }, (_, i) => ({ key: `key-${i}`, sent: 0 }));
  return all.filter((_, i) => i % options.connections === connection);
}

async function sendFrom(lines: readonly Line[]): Promise<never> {
  for (;;) {
    const client = new Client({ connectionString: options.url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await learn(client, lines);
      for (;;) await sendSome(client, lines);
    } catch {
      // The server was restarted: whether the last transaction was committed, it tells itself when it is back.
      await client.end().catch(() => undefined);
      await pause(50);
    }
  }
}

/** How far each key is, by what is committed. */
async function learn(client: Client, lines: readonly Line[]): Promise<void> {
  const { rows } = await client.query<{ key: string; n: number }>('select key, max(n) as n from sent group by key');
  const known = new Map(rows.map(({ key, n }) => [key, n]));
  for (const line of lines) line.sent = known.get(line.key) ?? 0;
}

async function sendSome(client: Client, lines: readonly Line[]): Promise<void> {
  if (taken >= granted) {
    await pause(5);
    return;
  }
  taken += PER_TRANSACTION;
  const chosen = Array.from({ length: PER_TRANSACTION }, () => lines[Math.floor(Math.random() * lines.length)]).filter(
    (line) => line !== undefined,
  );
  let isCommitted = false;
  try {
    await client.query('begin');
    const upTo = new Map<Line, number>();
    const steps = chosen.map((line) => {
      const n = (upTo.get(line) ?? line.sent) + 1;
      upTo.set(line, n);
      return { key: line.key, n };
    });
    const [keys, numbers] = [steps.map(({ key }) => key), steps.map(({ n }) => n)];
    await client.query('insert into sent (key, n) select * from unnest($1::text[], $2::int[])', [keys, numbers]);
    await hf.sendAll(
      client,
      steps.map((step) => outgoing(stepTaken, step)),
    );
    if ((transactions += 1) % ROLLED_BACK_EVERY === 0) {
      await client.query('rollback');
      rolledBack += PER_TRANSACTION;
    } else {
      await client.query('commit');
      for (const [line, n] of upTo) line.sent = n;
      committed += PER_TRANSACTION;
      isCommitted = true;
    }
  } finally {
    // What was not committed may be sent again. A commit whose answer was lost is counted by neither; the ledger counts rows.
    if (!isCommitted) taken -= PER_TRANSACTION;
    const report: SenderReport = { committed, rolledBack };
    process.send?.(report);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
