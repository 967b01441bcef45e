import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, onTestFinished } from 'vitest';
import { nats, type NatsOptions } from '../../src/nats/index.ts';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { localNats } from '../support/nats-server.ts';
import { needs } from '../support/needs.ts';
import type { InboundMessage } from '../../src/transport/broker.ts';
import { hangs, isKilledInTheFlow, startsLater } from './broker-fault-runs.ts';
import { consuming, message } from './broker-kit.ts';
import { ask, countIn, openBroker } from './nats-kit.ts';
import { numberIn } from './number-in.ts';
import { privateNats, type PrivateNats } from './private-nats.ts';

const test = needs('postgres', 'natsServer');
/** Whoever gives no name is `guest`; the reader may make and write nothing of ours; `mail` may what docs/nats.md lists and no more. */
const USERS = [
  'no_auth_user: guest',
  'authorization { users = [ { user: guest, password: guest },',
  '{ user: reader, password: reader, permissions: { publish: { deny: ["closed-order.>", "$JS.API.STREAM.CREATE.>", "$JS.API.CONSUMER.>"] } } }',
  '{ user: mail, password: mail, permissions: { publish: { allow: ["least-order.>", "least-order-dlq.>", "least-holdfast-readers.>", "$JS.API.>", "$JS.ACK.>"] }, subscribe: { allow: ["_INBOX.>"] } } }',
  '] }',
];

let server: PrivateNats | undefined;
afterAll(() => server?.remove());

/** One for all tests here; each leaves it running. */
async function atHand(program: string): Promise<PrivateNats> {
  return (server ??= await privateNats(program, USERS));
}

async function started(program: string): Promise<PrivateNats> {
  const isNew = server === undefined;
  const here = await atHand(program);
  if (isNew) await here.start();
  return here;
}

let prefixes = 0;
const newPrefix = (): string => `f${(prefixes += 1)}-`;

describe('a NATS', () => {
  test('that is away at the start is waited for, visibly; nothing is lost, and no attempt counted [S1.5]', async ({
    postgres,
    natsServer,
  }) => {
    const broker = await atHand(natsServer.url);
    await startsLater(postgres, broker, nats({ servers: broker.url, prefix: newPrefix() }));
  });

  test('that is killed in the middle of the flow and comes back has lost nothing, and nothing has a second effect [S1.5] [S1.6]', async ({
    postgres,
    natsServer,
  }) => {
    const broker = await started(natsServer.url);
    const options = { servers: broker.url, prefix: newPrefix() };
    await isKilledInTheFlow(postgres, broker, () => nats(options), 900);
    // What came again was left out by the stream itself.
    expect(await countIn(options, `${options.prefix}order`)).toBe(900);
  });

  test('whose confirmation is lost has the message once when it is published again [S1.5] [S1.6]', async ({
    natsServer,
  }) => {
    const broker = await started(natsServer.url);
    const proxy = await TcpProxy.open({ host: '127.0.0.1', port: broker.port }, systemEffects);
    onTestFinished(() => proxy.close());
    const options = { servers: localNats(proxy.port), prefix: newPrefix() };
    const publisher = openBroker(options);
    const stream = `${options.prefix}order`;
    await publisher.publish([message(0)]);
    const batch = [message(1, { key: 'a' }), message(2, { key: 'b' })];
    expect(proxy.loseAnswers()).toBe(1);
    const publishing = publisher.publish(batch);
    publishing.catch(() => undefined);
    await expect.poll(() => countIn({ servers: broker.url }, stream)).toBe(3);
    proxy.cut();
    await expect(publishing).rejects.toThrow(/connection/);
    expect(await publisher.publish(batch)).toEqual([{ kind: 'published' }, { kind: 'published' }]);
    expect(await countIn({ servers: broker.url }, stream)).toBe(3);
  });

  test('whose reader loses its connection goes on with it by the next, at once and in order [S0.8] [S1.5]', async ({
    natsServer,
  }) => {
    const broker = await started(natsServer.url);
    const proxy = await TcpProxy.open({ host: '127.0.0.1', port: broker.port }, systemEffects);
    onTestFinished(() => proxy.close());
    const prefix = newPrefix();
    const reading = openBroker({ servers: localNats(proxy.port), prefix });
    const publisher = openBroker({ servers: broker.url, prefix });
    const first = await consuming(reading);
    await publisher.publish([message(1, { key: 'a' })]);
    await expect.poll(() => first.stored.map(numberIn)).toEqual([1]);
    proxy.cut();
    await expect.poll(() => first.lost.length).toBe(1);
    await first.consumption.stop();
    const second = await consuming(reading);
    await publisher.publish([message(2, { key: 'a' })]);
    await expect.poll(() => second.stored.map(numberIn)).toEqual([2]);
    // Its sign of life goes on from the one before. Another process would have to wait until that was gone, and begin with 0.
    const last = await ask({ servers: broker.url }, (manager) =>
      manager.streams.getMessage(`${prefix}holdfast-readers`, { last_by_subj: '>' }),
    );
    expect(Number(last?.header.get('Nats-Expected-Last-Subject-Sequence'))).toBeGreaterThan(0);
    expect(first.lost).toHaveLength(1);
  });

  test('whose reader loses its connection with a batch in its hand has it again by the next, before what came later [S0.8] [S1.9]', async ({
    natsServer,
  }) => {
    const broker = await started(natsServer.url);
    const proxy = await TcpProxy.open({ host: '127.0.0.1', port: broker.port }, systemEffects);
    onTestFinished(() => proxy.close());
    const prefix = newPrefix();
    const reading = openBroker({ servers: localNats(proxy.port), prefix });
    const publisher = openBroker({ servers: broker.url, prefix });
    const held: number[] = [];
    const cut = Promise.withResolvers<never>();
    cut.promise.catch(() => undefined);
    const onBatch = (batch: readonly InboundMessage[]): Promise<never> => {
      held.push(...batch.map(numberIn));
      return cut.promise;
    };
    const first = await consuming(reading, { onBatch });
    await publisher.publish([1, 2, 3].map((n) => message(n)));
    await expect.poll(() => held.length).toBeGreaterThan(0);
    proxy.cut();
    cut.reject(new Error('not stored'));
    await expect.poll(() => first.lost.length).toBe(1);
    await first.consumption.stop();
    await publisher.publish([4, 5, 6].map((n) => message(n)));
    // It has the place at once, and the server hands over what is new long before it gives up on who is gone.
    const { stored } = await consuming(reading);
    await expect.poll(() => stored.map(numberIn)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('whose reader is killed with a batch in its hand gives it to the next, in order before what came later [S0.8] [S1.9]', async ({
    natsServer,
  }) => {
    const broker = await started(natsServer.url);
    const options = { servers: broker.url, prefix: newPrefix() };
    const publisher = openBroker(options);
    const killed = await startConsumer(options);
    const publish = (from: number, to: number): Promise<unknown> =>
      publisher.publish(Array.from({ length: to - from }, (_, at) => message(from + at)));
    await publish(0, 40);
    await expect.poll(() => killed.holds.length).toBeGreaterThan(0);
    const { stored, lost } = await consuming(openBroker(options));
    await publish(40, 80);
    killed.kill();
    await publish(80, 120);
    await expect.poll(() => stored.length).toBeGreaterThanOrEqual(120);
    expect(stored.map(numberIn)).toEqual(Array.from({ length: 120 }, (_, n) => n));
    expect(lost).toEqual([]);
  });

  test('that hangs ends in an error and in a loss that is told, and goes on when it goes on [S1.5]', async ({
    natsServer,
  }) => {
    const broker = await started(natsServer.url);
    const options = { servers: broker.url, prefix: newPrefix() };
    await hangs(broker, () => openBroker(options));
  });

  test('gives who has no right a clear answer: the message has failed, the consumer cannot begin [S1.5]', async ({
    natsServer,
  }) => {
    const broker = await started(natsServer.url);
    const prefix = 'closed-';
    await openBroker({ servers: broker.url, prefix }).publish([message(0)]);
    const options = { servers: broker.url, prefix, connection: { user: 'reader', pass: 'reader' } };
    const reader = openBroker(options);
    const refused = { code: 'BROKER_REFUSED', message: expect.stringMatching(/Permissions Violation/) };
    expect(await reader.publish([message(1), message(2), message(3, { type: 'new.one' })])).toMatchObject(
      Array.from({ length: 3 }, () => ({ kind: 'failed', error: refused })),
    );
    await expect(consuming(reader)).rejects.toMatchObject(refused);
  });

  test('asks for no more rights than its page lists [S1.5]', async ({ natsServer }) => {
    const broker = await started(natsServer.url);
    const connection = { user: 'mail', pass: 'mail' };
    const mail = openBroker({ servers: broker.url, prefix: 'least-', connection });
    const [live, dead] = [await consuming(mail), await consuming(mail, { isDead: true })];
    expect(await mail.publish([message(1), message(2, { isDead: true })])).toEqual(
      Array.from({ length: 2 }, () => ({ kind: 'published' })),
    );
    await expect.poll(() => [live.stored.map(numberIn), dead.stored.map(numberIn)]).toEqual([[1], [2]]);
  });

  test('refuses who has the wrong password with its own words [S1.5]', async ({ natsServer }) => {
    const broker = await started(natsServer.url);
    const stranger = openBroker({ servers: broker.url, connection: { user: 'guest', pass: 'wrong' } });
    await expect(stranger.publish([message(1)])).rejects.toThrow(/Authorization Violation/);
  });

  test('without JetStream is waited for, and named in the error [S1.5]', async ({ natsServer }) => {
    const broker = await started(natsServer.url);
    const jetstream = { domain: 'nowhere' };
    const publisher = openBroker({ servers: broker.url, prefix: newPrefix(), jetstream });
    await expect(publisher.publish([message(1)])).rejects.toThrow(/jetstream is not enabled/);
    await expect(consuming(publisher)).rejects.toThrow(/jetstream is not enabled/);
  });
});

/** A consumer in a process of its own, and what it holds. */
async function startConsumer(options: NatsOptions): Promise<{ readonly holds: number[]; kill(): void }> {
  const program = fileURLToPath(new URL('nats-consumer-process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = (): void => void child.kill('SIGKILL');
  onTestFinished(async () => {
    kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  });
  const holds: number[] = [];
  const ready = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [word, ...numbers] = line.split(' ');
    if (word === 'ready') ready.resolve();
    else holds.push(...numbers.map(Number));
  });
  child.once('exit', () => ready.reject(new Error('it ended before it was ready')));
  await ready.promise;
  return { holds, kill };
}
