import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { expect, onTestFinished } from 'vitest';
import { runOf, serverInterceptor } from '../../src/grpc/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import type { SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { newOrder, type Placed } from '../idempotency-http/orders.ts';
import { openPg, sharedPlace, type StoreUnderTest } from '../idempotency-stores/postgres-stores.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { SERVICE } from './orders-service.ts';
import { place, type Told } from './rpc-orders.ts';

const test = needs('postgres');

/** Sends an order to a server that commits its effect and its reply together; `meets` may throw inside or after that. */
async function shop(
  server: TestServer,
  meets: (where: 'inside' | 'after') => void,
): Promise<{ readonly under: StoreUnderTest; send(order: Placed): Promise<Told> }> {
  const under = await openPg(await sharedPlace(server));
  onTestFinished(() => under.close());
  const idem = idempotency({ service: 'shop', store: under.store });
  const guard = serverInterceptor(grpc, idem, { services: [SERVICE], person: 'anyone', keep: () => 'release' });
  const commit = async (call: grpc.ServerUnaryCall<Placed, object>): Promise<object> => {
    const made = await runOf<SqlTransaction>(call.metadata).commit(async (tx) => {
      await under.effect(tx, call.request.order);
      meets('inside');
      return { text: `placed ${call.request.order}` };
    });
    meets('after');
    return made;
  };
  const answer = async (
    call: grpc.ServerUnaryCall<Placed, object>,
    done: grpc.sendUnaryData<object>,
  ): Promise<void> => {
    try {
      done(null, await commit(call));
    } catch (error) {
      done({ code: grpc.status.INTERNAL, details: String(error) });
    }
  };
  const orders = new grpc.Server({ interceptors: [guard] });
  orders.addService(SERVICE, {
    place: (call: grpc.ServerUnaryCall<Placed, object>, done: grpc.sendUnaryData<object>) => void answer(call, done),
    list: (call: grpc.ServerWritableStream<object, object>) => call.end(),
  });
  const bind = promisify(orders.bindAsync.bind(orders));
  const port = await bind('127.0.0.1:0', grpc.ServerCredentials.createInsecure());
  onTestFinished(() => orders.forceShutdown());
  return { under, send: (order) => place({ grpc: `127.0.0.1:${port}` }, order) };
}

test('gRPC, atomic: what fails inside leaves neither effect nor reply; then both are committed, and replayed [X.15]', async ({
  postgres,
}) => {
  let isBroken = true;
  const { under, send } = await shop(postgres, (where) => {
    if (isBroken && where === 'inside') throw new Error('no stock');
  });
  const order = newOrder('grpc');
  expect(await send(order)).toMatchObject({ status: grpc.status.INTERNAL, isReplay: false });
  expect(await under.effects(order.order)).toBe(0);
  isBroken = false;
  for (const isReplay of [false, true])
    expect(await send(order)).toMatchObject({ text: `placed ${order.order}`, isReplay });
  expect(await under.effects(order.order)).toBe(1);
});

test('gRPC, atomic: what fails after the commit does not take it back, and a repetition gets what was committed [X.15]', async ({
  postgres,
}) => {
  const { under, send } = await shop(postgres, (where) => {
    if (where === 'after') throw new Error(`lost ${randomUUID()}`);
  });
  const order = newOrder('grpc');
  expect(await send(order)).toMatchObject({ status: grpc.status.INTERNAL });
  expect(await send(order)).toMatchObject({ text: `placed ${order.order}`, isReplay: true });
  expect(await under.effects(order.order)).toBe(1);
});
