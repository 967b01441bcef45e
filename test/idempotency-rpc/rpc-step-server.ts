// node rpc-step-server.ts <options as JSON>: takes orders through GraphQL Yoga, Apollo Server and gRPC, and holds each order at the step that
// it names, until it is told to go on or is killed.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { createSchema, createYoga } from 'graphql-yoga';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { idempotent } from '../../src/graphql/index.ts';
import { serverInterceptor } from '../../src/grpc/index.ts';
import { type Idempotency, idempotency } from '../../src/idempotency/index.ts';
import { redisIdempotency } from '../../src/redis/index.ts';
import type { Order, StepServerOptions } from '../idempotency-http/steps.ts';
import { say, SERVICE as NAME, Stops } from '../idempotency-http/stops.ts';
import { SERVICE } from './orders-service.ts';

const options = JSON.parse(process.argv[2] ?? '') as StepServerOptions;
const { redis, effects, leaseMs, storeTimeoutMs = 2_000 } = options;
const stops = new Stops(options.stops);
const client = new Redis(redis.url, { retryStrategy: () => 20 });
const pool = new Pool({ connectionString: effects.url });
// Stores are stopped on purpose.
client.on('error', () => undefined);
const store = redisIdempotency({ client, prefix: redis.prefix });

function guarded(route: string): Idempotency<never> {
  const general = { service: NAME, effects: stops.effects(storeTimeoutMs), storeTimeoutMs, leaseMs };
  return idempotency({ ...general, store: stops.store(route, store) });
}

async function place(route: string, { order, stopAt }: Order): Promise<string> {
  await stops.at('before-effect', route, stopAt);
  await pool.query(`insert into ${effects.schema}.effect (line) values ($1)`, [order]);
  return `placed ${order}`;
}

const TYPES = `type Query { n: Int! } type Mutation { place(order: String!, stopAt: String!): String! }`;

async function serveGraphql(): Promise<string> {
  const schema = createSchema({
    typeDefs: TYPES,
    resolvers: { Mutation: { place: (_: unknown, asked: Order) => place('graphql', asked) } },
  });
  const guard = idempotent(guarded('graphql'), { person: ({ headers }) => headers.get('x-person') ?? '' });
  const yoga = createYoga({ schema, plugins: [guard], logging: false });
  return listening(createServer((request, response) => void yoga(request, response)));
}

/** Loaded when it is asked for: every process would wait for it. */
async function serveApollo(): Promise<string> {
  const { apolloApp } = await import('./apollo-app.ts');
  return listening(createServer(await apolloApp(TYPES, guarded('apollo'), (asked) => place('apollo', asked))));
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
}

async function answer(
  { request }: grpc.ServerUnaryCall<Order, object>,
  done: grpc.sendUnaryData<object>,
): Promise<void> {
  done(null, { text: await place('grpc', request) });
}

async function serveGrpc(): Promise<string> {
  const guard = serverInterceptor(grpc, guarded('grpc'), {
    services: [SERVICE],
    person: (metadata) => String(metadata.get('person')[0]),
  });
  const server = new grpc.Server({ interceptors: [guard] });
  server.addService(SERVICE, {
    place: (call: grpc.ServerUnaryCall<Order, object>, done: grpc.sendUnaryData<object>) => void answer(call, done),
    list: (call: grpc.ServerWritableStream<object, object>) => call.end(),
  });
  const bind = promisify(server.bindAsync.bind(server));
  return `127.0.0.1:${await bind('127.0.0.1:0', grpc.ServerCredentials.createInsecure())}`;
}

const [graphql, apollo, ofGrpc] = await Promise.all([
  serveGraphql(),
  options.adapter === 'apollo' ? serveApollo() : '',
  serveGrpc(),
]);
say({ urls: { graphql, apollo, grpc: ofGrpc }, clock: Date.now() });
