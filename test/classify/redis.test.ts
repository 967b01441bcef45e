import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { eventHandlerClassifier, serviceCallClassifier } from '../../src/retry/classifier.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { closedPort, thrownBy } from './local-servers.ts';

/** One command, by either client. */
type Send = (...command: string[]) => Promise<unknown>;

async function ioredisClient(server: TestServer): Promise<Send> {
  const client = new Redis(server.url, { lazyConnect: true, retryStrategy: () => 1, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  await client.connect();
  return (name = '', ...rest) => client.call(name, ...rest);
}

async function nodeRedisClient(server: TestServer): Promise<Send> {
  const client = createClient({ url: server.url, socket: { reconnectStrategy: false } });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  return (...command) => client.sendCommand(command);
}

function expectBoth(error: unknown, failure: object): void {
  expect(eventHandlerClassifier(error)).toEqual(failure);
  expect(serviceCallClassifier(error)).toEqual(failure);
}

describe.each([
  ['ioredis', ioredisClient],
  ['redis', nodeRedisClient],
])('real failures of Redis through %s', (_, open) => {
  const test = needs('redis');

  test('a command on a key of another type is not retried [S4.3]', async ({ redis }) => {
    const send = await open(redis);
    const key = `${redis.namespace}:list`;
    await send('RPUSH', key, 'a');
    expectBoth(await thrownBy(() => send('INCR', key)), { verdict: 'fail', kind: 'invalid', code: 'WRONGTYPE' });
  });

  test('a consumer group that exists already is a conflict [S4.3]', async ({ redis }) => {
    const send = await open(redis);
    const key = `${redis.namespace}:stream`;
    const create = () => send('XGROUP', 'CREATE', key, 'workers', '0', 'MKSTREAM');
    await send('DEL', key);
    await create();
    expectBoth(await thrownBy(create), { verdict: 'fail', kind: 'conflict', code: 'BUSYGROUP' });
  });

  // The server is shared, so it is not made a replica or restarted: a script has it send the very reply.
  test.for(['READONLY', 'LOADING', 'CLUSTERDOWN', 'TRYAGAIN'])(
    'the reply %s is transient [S4.3]',
    async (code, { redis }) => {
      const send = await open(redis);
      const error = await thrownBy(() => send('EVAL', `return redis.error_reply('${code} for a while')`, '0'));
      expectBoth(error, { verdict: 'retry', kind: 'database', code });
    },
  );

  test('a command that does not exist is left open [S4.3]', async ({ redis }) => {
    const send = await open(redis);
    const error = await thrownBy(() => send('NOSUCHCOMMAND'));
    expect(eventHandlerClassifier(error)).toEqual({ verdict: 'retry', kind: 'database', code: 'ERR' });
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'fail', kind: 'database', code: 'ERR' });
  });

  test('a connection that is killed under a waiting command is transient [S4.3]', async ({ redis }) => {
    const [victim, admin] = [await open(redis), await open(redis)];
    const id = String(await victim('CLIENT', 'ID'));
    const ended = thrownBy(() => victim('BLPOP', `${redis.namespace}:nothing`, '30'));
    await admin('CLIENT', 'KILL', 'ID', id);
    const error = await ended;
    expect(eventHandlerClassifier(error)).toMatchObject({ verdict: 'retry', kind: 'network' });
    expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'retry', kind: 'network' });
  });
});

describe('no Redis at all', () => {
  plainTest('a closed port is transient for ioredis, also when it gives up a command [S4.3]', async () => {
    const client = new Redis({
      host: '127.0.0.1',
      port: await closedPort(),
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 1,
    });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    expect(serviceCallClassifier(await thrownBy(() => client.get('k')))).toMatchObject({
      verdict: 'retry',
      kind: 'network',
    });
  });

  plainTest('a closed port is transient for redis [S4.3]', async () => {
    const socket = { host: '127.0.0.1', port: await closedPort(), reconnectStrategy: false } as const;
    const client = createClient({ socket });
    client.on('error', () => {});
    expectBoth(await thrownBy(() => client.connect()), { verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' });
  });
});
