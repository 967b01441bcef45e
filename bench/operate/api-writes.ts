import type { Pool } from 'pg';
import type { Api } from './api-client.ts';
import type { Operation } from './api-reads.ts';
import type { NamedCall } from './measure-calls.ts';

/** What is written about, another one each time. */
interface Supplies {
  readonly letters: readonly string[];
  readonly keys: readonly { readonly handler: string; readonly key: string }[];
  readonly scheduled: readonly string[];
  readonly groups: readonly string[];
}

/** Each time the next one. */
function nextOf<T>(things: readonly T[]): () => T {
  let taken = 0;
  return () => {
    const thing = things[taken];
    if (thing === undefined) throw new Error('there are too few of them for so many rounds');
    taken += 1;
    return thing;
  };
}

type Write = () => readonly [params: Readonly<Record<string, string>>, body: Readonly<Record<string, unknown>>];

const REASON = { reason: 'the bench' };
const change: Write = () => [{}, REASON];

/** Every route that writes, in an order in which each has something to do. Throws where one is forgotten. */
export async function apiWrites(
  api: Api,
  operations: readonly Operation[],
  pool: Pool,
  rounds: { readonly quick: number; readonly bulk: number },
): Promise<readonly NamedCall[]> {
  const writes = { ...quickWrites(api.token, await supplies(pool)), ...bulkWrites() };
  const posts = operations.filter(({ method }) => method === 'post');
  const forgotten = posts.filter(({ id }) => writes[id] === undefined);
  if (forgotten.length > 0) throw new Error(`nothing is written by ${forgotten.map(({ id }) => id).join(', ')}`);
  let lastBulk = '';
  return Object.entries(writes).map(([id, write]) => {
    const operation = posts.find((one) => one.id === id);
    if (operation === undefined) throw new Error(`there is no route ${id}`);
    let [path, body] = ['', {}];
    return {
      name: `POST ${operation.path}${id === 'planBulk' ? ' of all dead letters' : ''}`,
      rounds: id in bulkWrites() ? rounds.bulk : rounds.quick,
      prepare: async () => {
        const [params, given] = write();
        path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
          encodeURIComponent(params[name] ?? lastBulk),
        );
        body = given;
      },
      run: async () => {
        const answer = await api.post(path, body);
        if (id === 'planBulk') lastBulk = (answer['bulk'] as { id: string }).id;
      },
    };
  });
}

/** One operation over all there is, from its plan to its end. It is stepped at a pace, as one is that spares others. */
function bulkWrites(): Readonly<Record<string, Write>> {
  return {
    planBulk: () => [{}, { verb: 'replay', filter: {}, canary: 10, perSecond: 200, ...REASON }],
    startBulk: change,
    stepBulks: () => [{}, {}],
    pauseBulk: change,
    resumeBulk: change,
    cancelBulk: change,
  };
}

function quickWrites(token: string, supplied: Supplies): Readonly<Record<string, Write>> {
  const letter = nextOf(supplied.letters);
  const key = nextOf(supplied.keys);
  const scheduled = nextOf(supplied.scheduled);
  const groups = [0, 1, 2].map(() => nextOf(supplied.groups));
  let retired = 0;
  let erased = 0;
  const handler = { handler: 'handler-5', ...REASON };
  const breaker = { name: 'dependency-6', ...REASON };
  return {
    login: () => [{}, { token }],
    replayMessage: () => [{ id: letter() }, REASON],
    editMessage: () => [{ id: letter() }, { payload: { orderId: 'edited' }, ...REASON }],
    discardMessage: () => [{ id: letter() }, REASON],
    cancelMessage: () => [{ id: scheduled() }, REASON],
    replayDeadLetters: () => [{}, { filter: { handler: 'handler-7', errorCode: 'E42' }, limit: 50, ...REASON }],
    resolveGroup: () => [{ id: groups[0]?.() ?? '' }, REASON],
    ignoreGroup: () => [{ id: groups[1]?.() ?? '' }, REASON],
    reopenGroup: () => [{ id: groups[2]?.() ?? '' }, REASON],
    releaseKey: () => [{}, { ...key(), ...REASON }],
    skipKey: () => [{}, { ...key(), ...REASON }],
    replayKey: () => [{}, { ...key(), ...REASON }],
    discardKey: () => [{}, { ...key(), ...REASON }],
    pauseHandler: () => [{}, handler],
    resumeHandler: () => [{}, handler],
    limitHandler: () => [{}, { ...handler, limit: 4 }],
    retireHandler: () => [{}, { handler: `old-${(retired += 1)}`, ...REASON }],
    pauseAll: () => [{}, REASON],
    resumeAll: () => [{}, REASON],
    openBreaker: () => [{}, breaker],
    closeBreaker: () => [{}, breaker],
    previewErase: () => [{}, { person: `p${erased + 1}` }],
    erase: () => [{}, { person: `p${(erased += 1)}`, ...REASON }],
  };
}

/** Letters and held keys are apart. The newest: bulk operations begin with the oldest. None is of what is replayed by a filter. */
async function supplies(pool: Pool): Promise<Supplies> {
  const column = async (statement: string): Promise<readonly string[]> =>
    (await pool.query<{ value: string }>(statement)).rows.map(({ value }) => value);
  const { rows: keys } = await pool.query<{ handler: string; key: string }>(
    `select h.service || '/' || h.name as handler, d.key from holdfast.delivery d join holdfast.handler h on h.id = d.handler
     where d.state = 2 and d.holds and h.name <> 'handler-7' order by d.failed_at desc limit 1000`,
  );
  return {
    letters:
      await column(`select d.id || ':' || d.handler as value from holdfast.delivery d join holdfast.handler h on h.id = d.handler
      where d.state = 2 and not d.holds and h.name <> 'handler-7' order by d.failed_at desc limit 1000`),
    keys,
    scheduled: await column(`select id as value from holdfast.delivery where state = 1 and attempts = 0 limit 1000`),
    groups: await column(`select id as value from holdfast.error_group`),
  };
}
