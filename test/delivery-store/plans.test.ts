import { expect } from 'vitest';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { needs } from '../support/needs.ts';
import { attempt, openDeliveries, SECRET, to } from './delivery-database.ts';

const test = needs('postgres');

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const BIG = /^(?:delivery|delivered_\d|http_event)$/;
/** What a walk reads, and the few that are sorted ahead. */
const MOST_READ = 10_100;
/** Where ids are named. */
const MOST_BY_ID = 50;
const MESSAGES = 12_000;

/** Each node of a plan that reads a big table. */
function bigReads(node: PlanNode): readonly PlanNode[] {
  const below = (node.Plans ?? []).flatMap(bigReads);
  return BIG.test(node['Relation Name'] ?? '') && node['Node Type'].endsWith('Scan') ? [node, ...below] : below;
}

test('nothing the delivery server asks reads a whole table of messages or of the log, or is compiled, with statistics or without [X.8]', async ({
  postgres,
}) => {
  const { database } = await openDeliveries(postgres);
  const idOf = `(lpad(to_hex(1790000000000 + n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid`;
  const url = `'https://shop' || n % 100 || '.example/orders'`;
  await database.sql(`insert into $S.delivery (id, handler, unit, state, failed_at, error, type, key, payload, source)
    select ${idOf}, 1, 32 + n % 32, case when n % 4 = 0 then 2 else 0 end, case when n % 4 = 0 then now() - n * interval '1 second' end,
      case when n % 4 = 0 then '{}'::jsonb end, 'http.delivery', 'queue:q' || n % 50, jsonb_build_object('url', ${url}, 'headers', '{}'::jsonb), 'delivery'
    from generate_series(1, ${MESSAGES}) n`);
  await database.sql(`insert into $S.http_event (message_id, cycle, attempt, state, at, request)
    select ${idOf}, 0, a, a, now() - n * interval '1 second', case a when 0 then jsonb_build_object('url', ${url}) end
    from generate_series(1, ${MESSAGES}) n, generate_series(0, 1) a`);
  const one = await database.connect();
  await one.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
    set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set auto_explain.log_format = json; set client_min_messages = log;
    set max_parallel_workers_per_gather = 0`);
  const plans: string[] = [];
  one.on('notice', ({ message = '' }) => plans.push(message));
  const store = postgresDelivery({ pool: one, schema: database.schema, secret: SECRET });
  const { messages, dead, log, queues, flowControls, destinations, sender, publishing, signingKeys, tokens } = store;
  const [some = '', other = ''] = (
    await database.sql<{ id: string }>(`select id from $S.delivery where state = 2 limit 2`)
  ).map(({ id }) => id);
  const limit = 10;
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    publish: () => publishing.publish([to('https://a.example/', { queue: 'a' }, { deduplication: { content: true } })]),
    publishFlow: () => publishing.publish([to('https://a.example/', { flowKey: 'f' }, { flow: { rate: 1 } })]),
    report: () =>
      sender.report([
        { ...attempt(some), callbacks: [{ ...to('x'), to: { kind: 'url', url: 'https://c.example/' } }] },
      ]),
    takeRate: () => sender.takeRate('f'),
    look: () => sender.open().then(() => sender.close()),
    destinationLook: () => sender.destinations(),
    destinationChange: () => sender.changeDestination({ destination: 'https://a.example', epoch: 0, to: 'open' }),
    get: () => messages.get(some),
    list: () => messages.list({}, { limit }),
    listRare: () => messages.list({ labels: ['rare'] }, { limit }),
    listIds: () => messages.list({ messageIds: [some, other] }, { limit }),
    cancelIds: () => messages.cancel({ messageIds: [some, other] }),
    deadList: () => dead.list({}, { limit }),
    deadRare: () => dead.list({ responseStatus: 404 }, { limit }),
    deadGet: () => dead.get(`${some}-0`),
    deadIds: () => dead.list({ dlqIds: [`${some}-0`, `${other}-0`] }, { limit }),
    deadReplay: () => dead.replay({}, { limit }),
    deadEdit: () => dead.replay({}, { limit }, { retries: 1 }),
    deadDiscard: () => dead.discard({}, { limit }),
    log: () => log.list({}, { limit }),
    logRare: () => log.list({ labels: ['rare'] }, { limit }),
    logIds: () => log.list({ messageIds: [some, other] }, { limit }),
    queue: () => queues.get('q1'),
    flow: () => flowControls.get('f'),
    keys: () => signingKeys.get(),
    token: () => tokens.verify('x'),
    queues: () => queues.list(),
    flows: () => flowControls.list(),
    destinations: () => destinations.list(),
  };
  const check = async (): Promise<void> => {
    for (const [name, call] of Object.entries(calls)) {
      plans.length = 0;
      await call();
      await one.query('select 1');
      const read = plans.flatMap((plan) => {
        const json = plan.slice(plan.indexOf('{'));
        const { Plan, JIT } = JSON.parse(json) as { readonly Plan: PlanNode; readonly JIT?: unknown };
        expect([name, JIT]).toEqual([name, undefined]);
        return bigReads(Plan);
      });
      expect(plans.length, name).toBeGreaterThan(0);
      expect([name, read.filter((node) => node['Node Type'] === 'Seq Scan')]).toEqual([name, []]);
      // Lists of lines count all that wait; every other call reads no more than a walk does.
      if (/^(?:queues|flows|destinations)$/.test(name)) continue;
      const rows = read.map(
        (node) => node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
      );
      expect([name, rows.filter((n) => n > (/Ids$|[gG]et$/.test(name) ? MOST_BY_ID : MOST_READ))]).toEqual([name, []]);
    }
  };
  await check();
  await database.sql(`analyze $S.delivery`);
  await database.sql(`analyze $S.http_event`);
  await check();
});
