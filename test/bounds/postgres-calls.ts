import { command, durableCommands } from '../../src/commands/index.ts';
import { event, holdfast, systemEffects } from '../../src/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import {
  factRecorder,
  migrate,
  postgres,
  postgresCommands,
  postgresIdempotency,
  postgresOperator,
} from '../../src/postgres/index.ts';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { type BoundedCall, endOf, type RealServers } from './bounded-call.ts';
import { callsThrough, connectionOf, inTransaction, type MakeCall, type SqlClient, urlThrough } from './sql-kit.ts';

/** Enough for a handshake on a busy machine; what asks brokers and MongoDB takes longer anyway. */
const answerTimeoutMs = 5_000;

const nothing = (): void => undefined;

/** Every call to PostgreSQL, through both clients. */
export function postgresCalls(servers: RealServers): readonly BoundedCall[] {
  return (['pg', 'postgres.js'] as const).flatMap((client) => {
    const made = callsThrough(client, servers);
    return relayCalls(client, made, servers).concat(
      storeCalls(client, made, servers),
      commandCalls(client, made, servers),
    );
  });
}

function relayCalls(client: SqlClient, made: MakeCall, { schema }: RealServers): readonly BoundedCall[] {
  // All of them share a schema: what one sends is not for the others.
  const noted = event<number>(`note.taken.${client}`);
  const storeOf = (pool: never) => postgres({ pool, schema, answerTimeoutMs });
  return [
    made({ call: 'hf.send', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (pool, way) =>
      inTransaction(client, pool, (tx) => {
        way.fallSilent();
        return endOf(holdfast({ service: 'bounds', store: storeOf(pool) }).send(tx, noted, 1));
      }),
    ),
    made({ call: 'hf.start', ends: 'DATABASE_TIMEOUT' }, (pool) => {
      const hf = holdfast({ service: 'bounds', store: storeOf(pool) });
      hf.on(noted, 'note', async () => undefined);
      return endOf(hf.start());
    }),
    made({ call: 'a running relay', ends: 'DATABASE_TIMEOUT, then stopped', isWarm: true }, async (pool, way) => {
      const hf = holdfast({ service: `running-${client}`, store: storeOf(pool) });
      hf.on(noted, 'note', async () => undefined);
      const told = Promise.withResolvers<unknown>();
      const running = await hf.start({
        leaseMs: 3_000,
        observers: [(one) => one.kind === 'store-failed' && told.resolve(one.error)],
      });
      way.fallSilent();
      const code = await endOf(Promise.reject(await told.promise));
      await running.stop({ drainMs: 100 });
      return `${code}, then stopped`;
    }),
    made({ call: 'a running relay', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (pool, way) => {
      const link = findDriver(pool, systemEffects, answerTimeoutMs)?.link();
      await link?.query('select 1', []);
      way.fallSilent();
      // Gone when the statement is given up: nothing of that may end the process.
      way.refuse();
      const code = await endOf(link?.query('select 1', []) ?? Promise.resolve());
      await link?.close();
      return code;
    }),
    made({ call: 'LISTEN of a relay', ends: 'DATABASE_TIMEOUT' }, (pool) => {
      const driver = findDriver(pool, systemEffects, answerTimeoutMs);
      return endOf(driver?.listen('waked', nothing, nothing) ?? Promise.resolve());
    }),
  ];
}

function storeCalls(client: SqlClient, made: MakeCall, servers: RealServers): readonly BoundedCall[] {
  const { schema } = servers;
  const committed = event<number>(`note.committed.${client}`);
  return [
    made({ call: 'ctx.commit', ends: 'rejected, then stopped', isWarm: true }, async (pool, way) => {
      const hf = holdfast({ service: `commit-${client}`, store: postgres({ pool, schema, answerTimeoutMs }) });
      const ended = Promise.withResolvers<string>();
      hf.on(committed, 'note', async (_, ctx) => {
        way.fallSilent();
        ended.resolve(
          await endOf(ctx.commit(async () => undefined)).then((code) => (code === 'answered' ? code : 'rejected')),
        );
      });
      const running = await hf.start({ leaseMs: 3_000 });
      await inTransaction(client, pool, (tx) => hf.send(tx, committed, 1));
      const code = await ended.promise;
      await running.stop({ drainMs: 100 });
      return `${code}, then stopped`;
    }),
    made({ call: 'postgresOperator()', ends: 'DATABASE_TIMEOUT' }, (pool) =>
      endOf(postgresOperator({ pool, schema, answerTimeoutMs: 300 }).deadLetters()),
    ),
    made({ call: 'migrate', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (pool, way) => {
      const connection = await connectionOf(client, pool, urlThrough(servers.postgres, way));
      way.fallSilent();
      return endOf(migrate(connection.connection, { schema, answerTimeoutMs: 300 })).finally(() => connection.end());
    }),
    made({ call: 'postgresIdempotency()', ends: 'IDEMPOTENCY_STORE_DOWN' }, (pool) => {
      const store = postgresIdempotency({ pool, schema, answerTimeoutMs });
      return endOf(idempotency({ service: 'bounds', store, storeTimeoutMs: 200 }).once('key', async () => 1));
    }),
    made({ call: 'run.commit', ends: 'rejected', isWarm: true }, async (pool, way) => {
      const store = postgresIdempotency({ pool, schema, answerTimeoutMs });
      const guard = idempotency({ service: `commit-${client}`, store, storeTimeoutMs: 2_000 });
      const code = await endOf(
        guard.once(
          'key',
          (run) =>
            run.commit(async () => {
              way.fallSilent();
              return 1;
            }),
          // What could not be told to the store holds the process as long as its lease.
          { leaseMs: 3_000 },
        ),
      );
      return code === 'answered' ? code : 'rejected';
    }),
  ];
}

function commandCalls(client: SqlClient, made: MakeCall, { schema }: RealServers): readonly BoundedCall[] {
  const runModule = command<{ runId: string }>('module.run', {
    target: ({ runId }) => runId,
    key: ({ runId }) => runId,
  });
  const commandsOf = (pool: never) => {
    const hf = holdfast({ service: `bounds-${client}`, store: postgres({ pool, schema, answerTimeoutMs }) });
    return durableCommands({ holdfast: hf, store: postgresCommands({ pool, schema }) });
  };
  return [
    made({ call: 'commands.send', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (pool, way) =>
      inTransaction(client, pool, (tx) => {
        way.fallSilent();
        return endOf(commandsOf(pool).send(tx, runModule, { runId: 'run_1' }));
      }),
    ),
    made({ call: 'commands.get', ends: 'DATABASE_TIMEOUT' }, (pool) =>
      endOf(commandsOf(pool).get('01a1e1d2-95c6-7c20-9b5e-0d1c5e9c33a1')),
    ),
    made({ call: 'factRecorder()', ends: '1 lost, none waits' }, async (pool) => {
      const facts = factRecorder({ service: 'bounds', pool, schema });
      facts.request({ requestId: 'request-1' });
      await facts.stop({ timeoutMs: 200 });
      const { lost, waiting } = facts.counts();
      return `${lost} lost, ${waiting === 0 ? 'none waits' : 'some wait'}`;
    }),
  ];
}
