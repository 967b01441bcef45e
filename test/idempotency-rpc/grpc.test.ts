import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { clientInterceptor, runOf, serverInterceptor, type ServerInterceptorOptions } from '../../src/grpc/index.ts';
import { idempotency, type IdempotencyStore, memoryIdempotency } from '../../src/idempotency/index.ts';
import { SERVICE } from './orders-service.ts';

interface Order {
  readonly item: string;
}

interface Shop {
  call(item: string, key?: string | null, person?: string): Promise<{ reply: object; replayed: unknown }>;
  count(): number;
  open(): void;
}

interface ShopOptions extends Partial<ServerInterceptorOptions> {
  readonly withKeys?: boolean;
  readonly store?: IdempotencyStore;
}

async function shop({ withKeys, store = memoryIdempotency(), ...options }: ShopOptions = {}): Promise<Shop> {
  let n = 0;
  let open = (): void => undefined;
  const door = new Promise<void>((resolve) => (open = resolve));
  const idem = idempotency({ service: 'shop', store });
  const guard = serverInterceptor(grpc, idem, {
    services: [SERVICE],
    person: (metadata) => String(metadata.get('person')[0]),
    ...options,
  });
  const server = new grpc.Server({ interceptors: [guard] });
  server.addService(SERVICE, {
    place: (call: grpc.ServerUnaryCall<Order, object>, done: grpc.sendUnaryData<object>) => {
      const slowly = async (made: object): Promise<void> => {
        await door;
        done(null, made);
      };
      n++;
      const { item } = call.request;
      if (item === 'bad') return done({ code: grpc.status.NOT_FOUND, details: `no ${item} ${n}` });
      if (item === 'throw') throw new Error('boom');
      if (item === 'unsendable') return done(null, { n: 1n });
      if (item === 'explained') {
        const metadata = new grpc.Metadata();
        metadata.add('why', 'a');
        metadata.add('why', 'b');
        metadata.add('details-bin', Buffer.from([0, 255, n]));
        return done({ code: grpc.status.FAILED_PRECONDITION, details: 'no', metadata });
      }
      const reply = { item, n, child: runOf(call.metadata).childKey('card') };
      if (item !== 'slow' || n > 1) return done(null, reply);
      void slowly(reply);
    },
    list: (call: grpc.ServerWritableStream<object, object>) => {
      call.write({ n });
      call.end();
    },
  });
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', grpc.ServerCredentials.createInsecure());
  const Client = grpc.makeGenericClientConstructor(SERVICE, 'Orders');
  const interceptors = withKeys ? [clientInterceptor(grpc) as grpc.Interceptor] : [];
  const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), { interceptors });
  onTestFinished(() => {
    client.close();
    server.forceShutdown();
  });
  const call: Shop['call'] = async (item, key = randomUUID(), person = 'ada') =>
    new Promise((resolve, reject) => {
      const metadata = new grpc.Metadata();
      metadata.set('person', person);
      if (key !== null) metadata.set('idempotency-key', key);
      let replayed: unknown;
      const place = client['place'] as unknown as (
        request: Order,
        metadata: grpc.Metadata,
        done: (error: unknown, reply: object) => void,
      ) => grpc.ClientUnaryCall;
      const sent = place.call(client, { item }, metadata, (error, reply) =>
        error ? reject(error as Error) : resolve({ reply, replayed }),
      );
      sent.on('metadata', (got) => (replayed = got.get('idempotent-replayed')[0]));
    });
  return { call, count: () => n, open };
}

function problem(code: grpc.status, name: string): object {
  return {
    code,
    metadata: expect.toSatisfy((metadata: grpc.Metadata) => metadata.get('idempotency-problem')[0] === name),
  };
}

test('gRPC: a repetition gets the same message, and the method runs once [S1.1]', async () => {
  const { call, count } = await shop();
  const key = randomUUID();
  const [first, second] = [await call('pen', key), await call('pen', key)];
  expect(first.reply).toMatchObject({ item: 'pen', n: 1 });
  expect(second).toEqual({ reply: first.reply, replayed: 'true' });
  expect((await call('pen', key, 'bob')).reply).toMatchObject({ n: 2 });
  expect(count()).toBe(2);
});

test('gRPC: missing and unusable keys and another message are refused [S1.1]', async () => {
  const { call, count } = await shop();
  await expect(call('pen', null)).rejects.toMatchObject(problem(grpc.status.INVALID_ARGUMENT, 'key-missing'));
  await expect(call('pen', 'a,b')).rejects.toMatchObject(problem(grpc.status.INVALID_ARGUMENT, 'key-invalid'));
  expect(count()).toBe(0);
  await call('pen', 'k');
  await expect(call('cup', 'k')).rejects.toMatchObject(problem(grpc.status.INVALID_ARGUMENT, 'mismatch'));
  expect(count()).toBe(1);
});

test.for([
  ['uuid-v4', 'a random UUID (version 4)', ['order-7', '01890a5d-ac96-774b-bcce-b302099a8057'], randomUUID()],
  [/^order-\d+$/g, 'in the form this server asks for', ['order-x', randomUUID()], 'order-7'],
] as const)('gRPC: a server can demand keys in the form %s [S1.3]', async ([keyFormat, wanted, bad, good]) => {
  const { call, count } = await shop({ keyFormat });
  for (const key of bad) {
    await expect(call('pen', key)).rejects.toMatchObject({
      ...problem(grpc.status.INVALID_ARGUMENT, 'key-invalid'),
      details: `metadata idempotency-key must be ${wanted}`,
    });
  }
  expect(count()).toBe(0);
  for (const time of [1, 2]) expect([time, (await call('pen', good)).reply]).toMatchObject([time, { n: 1 }]);
  expect(() =>
    serverInterceptor(grpc, {} as never, { services: [SERVICE], person: 'anyone', keyFormat: 'uuid' as never }),
  ).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining('keyFormat') as string }),
  );
});

test('gRPC: a repetition of one that runs is aborted, which clients may send again [S1.1]', async () => {
  const { call, count, open } = await shop();
  const first = call('slow', 'k');
  await expect.poll(count).toBe(1);
  await expect(call('slow', 'k')).rejects.toMatchObject(problem(grpc.status.ABORTED, 'in-flight'));
  open();
  expect((await first).reply).toMatchObject({ n: 1 });
  expect((await call('slow', 'k')).replayed).toBe('true');
  expect(count()).toBe(1);
});

test('gRPC: an error is answered again with its code and text, thrown ones too [S1.1]', async () => {
  const { call, count } = await shop();
  for (const time of [1, 2])
    expect([time, await call('bad', 'k').catch((error: unknown) => error)]).toMatchObject([
      time,
      { code: grpc.status.NOT_FOUND, details: 'no bad 1' },
    ]);
  for (const time of [1, 2])
    expect([time, await call('throw', 't').catch((error: unknown) => error)]).toMatchObject([
      time,
      { code: grpc.status.UNKNOWN },
    ]);
  expect(count()).toBe(2);
});

test('gRPC: the client interceptor gives each call a key, unless it brings one [S1.3]', async () => {
  const { call, count } = await shop({ withKeys: true });
  await call('pen', null);
  await call('pen', null);
  expect(count()).toBe(2);
  await call('pen', 'k');
  expect((await call('pen', 'k')).replayed).toBe('true');
});

test('gRPC: a run that comes back after another has taken over answers nothing of its own [X.15]', async () => {
  const store = { ...memoryIdempotency(), renew: () => Promise.reject(new Error('away')) };
  const { call, count, open } = await shop({ store, unknown: 'rerun', leaseMs: 1_000 });
  const first = call('slow', 'k').catch((error: unknown) => error);
  await expect.poll(count).toBe(1);
  await expect.poll(() => call('slow', 'k').catch(() => undefined)).toMatchObject({ reply: { n: 2 } });
  open();
  expect(await first).toMatchObject(problem(grpc.status.ABORTED, 'in-flight'));
  expect(await call('slow', 'k')).toMatchObject({ reply: { n: 2 }, replayed: 'true' });
});

test('gRPC: ends that are not to be kept are released, or left in doubt [X.15]', async () => {
  const { call, count } = await shop({
    keep: ({ details }) => (details.endsWith('3') ? 'doubt' : 'release'),
  });
  for (const n of [1, 2, 3]) await expect(call('bad', 'k')).rejects.toMatchObject({ details: `no bad ${n}` });
  await expect(call('bad', 'k')).rejects.toMatchObject(problem(grpc.status.FAILED_PRECONDITION, 'unknown-outcome'));
  expect(count()).toBe(3);
});

test.each([
  ['that throws', () => new Intl.Locale(''), 'person threw RangeError'],
  ['that answers a number', () => 5, 'such as String(user.id)'],
])('gRPC: a person %s ends the call, not the process, and nothing is run [S1.1]', async (_name, person, why) => {
  const { call, count } = await shop({ person: person as () => never });
  await expect(call('cup')).rejects.toMatchObject({
    code: grpc.status.INTERNAL,
    details: expect.stringContaining(why) as unknown,
  });
  expect(count()).toBe(0);
});

test('gRPC: a caller that is nobody is refused, and nothing is run [S1.1]', async () => {
  for (const nobody of ['', undefined]) {
    const { call, count } = await shop({ person: () => nobody as string });
    await expect(call('cup')).rejects.toMatchObject(problem(grpc.status.UNAUTHENTICATED, 'person-unknown'));
    expect(count()).toBe(0);
  }
});

test('gRPC: a person may refuse a call with a status of its own [S1.1]', async () => {
  const person = (): string => {
    throw Object.assign(new Error('token abc'), { code: grpc.status.UNAUTHENTICATED, details: 'sign in' });
  };
  const { call } = await shop({ person });
  await expect(call('cup')).rejects.toMatchObject({ code: grpc.status.UNAUTHENTICATED, details: 'sign in' });
});

test('gRPC: a verdict that throws does not keep the reply from its caller, and leaves the run in doubt [X.15]', async () => {
  const keep = (): never => {
    throw new Error('boom');
  };
  const { call, count } = await shop({ keep });
  expect((await call('cup', 'k')).reply).toMatchObject({ item: 'cup' });
  await expect(call('cup', 'k')).rejects.toMatchObject(problem(grpc.status.FAILED_PRECONDITION, 'unknown-outcome'));
  expect(count()).toBe(1);
});

test('gRPC: the metadata of an error is answered again, bytes and lists too [X.15]', async () => {
  const { call, count } = await shop();
  const failure = async (): Promise<unknown> => {
    const { metadata } = (await call('explained', 'k').catch((error: unknown) => error)) as { metadata: grpc.Metadata };
    return [metadata.get('why'), metadata.get('details-bin')];
  };
  const first = await failure();
  expect(first).toEqual([['a, b'], [Buffer.from([0, 255, 1])]]);
  expect([await failure(), count()]).toEqual([first, 1]);
});

test('gRPC: a message that cannot be sent is an error, and is not made again [X.15]', async () => {
  const { call, count } = await shop();
  const failed = {
    code: grpc.status.INTERNAL,
    details: expect.stringContaining('Error serializing response') as unknown,
  };
  await expect(call('unsendable', 'k')).rejects.toMatchObject(failed);
  await expect(call('unsendable', 'k')).rejects.toMatchObject(failed);
  expect(count()).toBe(1);
});

test('gRPC: a message that is too large to be kept is sent once, and never made again [X.15]', async () => {
  const { call, count } = await shop({ maxReplyBytes: 10 });
  expect((await call('cup', 'k')).reply).toMatchObject({ item: 'cup' });
  await expect(call('cup', 'k')).rejects.toMatchObject(problem(grpc.status.ALREADY_EXISTS, 'reply-not-kept'));
  expect(count()).toBe(1);
});

test('gRPC: options that would fail at every call are refused when the interceptor is made [S1.3]', () => {
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const make = (options: object): unknown =>
    serverInterceptor(grpc, idem, { services: [SERVICE], person: 'anyone', ...options });
  for (const wrong of [{ waitMs: -1 }, { keep: 'keep' }, { unknown: 'run' }, { maxReplyBytes: -1 }, { waitms: 1 }]) {
    expect(() => make(wrong)).toThrow(Object.keys(wrong)[0]);
  }
  expect(() => serverInterceptor(grpc, idem, undefined as never)).toThrow('pass { services');
});
