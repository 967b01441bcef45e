import { once } from 'node:events';
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServiceError,
} from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventHandlerClassifier, serviceCallClassifier } from '../../src/retry/classifier.ts';
import { closedPort, tcpServer, thrownBy } from './local-servers.ts';

const bytes = (value: Buffer): Buffer => value;
const PATH = '/shop.Orders/Place';

/** A real server whose one method answers with this error, or not at all. */
async function grpcServer(error?: Partial<ServiceError>): Promise<number> {
  const server = new Server();
  const definition = {
    place: {
      path: PATH,
      requestStream: false as const,
      responseStream: false as const,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    },
  };
  server.addService(definition, {
    place: (_: unknown, callback: sendUnaryData<Buffer>) => {
      if (error) callback(error);
    },
  });
  onTestFinished(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (failed, port) =>
      failed ? reject(failed) : resolve(port),
    );
  });
}

async function call(port: number, deadlineMs = 30_000): Promise<unknown> {
  // Its own transparent retries off: what we classify is the answer to one call.
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.enable_retries': 0 });
  onTestFinished(() => client.close());
  const options = { deadline: Date.now() + deadlineMs };
  return thrownBy(
    () =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(PATH, bytes, bytes, Buffer.from('x'), new Metadata(), options, (error, value) =>
          error ? reject(error) : resolve(value),
        );
      }),
  );
}

describe('real failures of gRPC', () => {
  test.each([
    ['UNAVAILABLE', { verdict: 'retry', kind: 'grpc' }],
    ['RESOURCE_EXHAUSTED', { verdict: 'retry', kind: 'rate-limit' }],
    ['ABORTED', { verdict: 'retry', kind: 'grpc' }],
    ['INVALID_ARGUMENT', { verdict: 'fail', kind: 'invalid' }],
    ['NOT_FOUND', { verdict: 'fail', kind: 'grpc' }],
    ['ALREADY_EXISTS', { verdict: 'fail', kind: 'conflict' }],
    ['UNAUTHENTICATED', { verdict: 'fail', kind: 'auth' }],
  ] as const)('%s is judged the same by all classifiers [S0.2]', async (code, failure) => {
    const error = await call(await grpcServer({ code: status[code], details: 'said so' }));
    expect(serviceCallClassifier(error)).toEqual({ ...failure, code });
    expect(eventHandlerClassifier(error)).toEqual({ ...failure, code });
  });

  test('INTERNAL says nothing: a service call fails, a handler tries again [S0.2]', async () => {
    const error = await call(await grpcServer({ code: status.INTERNAL, details: 'said so' }));
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'fail', kind: 'grpc', code: 'INTERNAL' });
    expect(eventHandlerClassifier(error)).toEqual({ verdict: 'retry', kind: 'grpc', code: 'INTERNAL' });
  });

  test('a method that never answers ends at the deadline, which is a timeout [S0.2]', async () => {
    const error = await call(await grpcServer(), 100);
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'retry', kind: 'timeout', code: 'DEADLINE_EXCEEDED' });
  });

  test('a closed port and a connection that is reset are UNAVAILABLE [S0.2]', async () => {
    expect(serviceCallClassifier(await call(await closedPort()))).toMatchObject({
      verdict: 'retry',
      code: 'UNAVAILABLE',
    });
    const port = await tcpServer((socket) => void once(socket, 'data').then(() => socket.resetAndDestroy()));
    expect(serviceCallClassifier(await call(port))).toMatchObject({ verdict: 'retry', code: 'UNAVAILABLE' });
  });

  test.each([
    ['1500', { verdict: 'retry', hint: { afterMs: 1500, source: 'grpc-retry-pushback-ms' } }],
    ['-1', { verdict: 'fail', reason: 'server-said-no' }],
    ['rubbish', { verdict: 'fail', reason: 'server-said-no' }],
  ])('the pushback %j is obeyed [F.18]', async (value, failure) => {
    const metadata = new Metadata();
    metadata.set('grpc-retry-pushback-ms', value);
    const error = await call(await grpcServer({ code: status.UNAVAILABLE, details: 'later', metadata }));
    expect(serviceCallClassifier(error)).toMatchObject(failure);
  });
});
