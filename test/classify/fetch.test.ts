import { describe, expect, onTestFinished, test } from 'vitest';
import { Agent, request } from 'undici';
import { serviceCallClassifier } from '../../src/retry/classifier.ts';
import { closedPort, httpServer, tcpServer, thrownBy } from './local-servers.ts';

async function failureOf(act: () => unknown): Promise<unknown> {
  return serviceCallClassifier(await thrownBy(act));
}

function agent(options: Agent.Options = {}): Agent {
  const made = new Agent(options);
  onTestFinished(() => made.destroy());
  return made;
}

describe('real failures of fetch', () => {
  test('a closed port is a network error and is retried [S0.2]', async () => {
    const port = await closedPort();
    const refused = { verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' };
    expect(await failureOf(() => fetch(`http://127.0.0.1:${port}/`))).toEqual(refused);
    // "localhost" may have two addresses; then the causes stand side by side.
    expect(await failureOf(() => fetch(`http://localhost:${port}/`))).toEqual(refused);
  });

  test('a name that does not resolve is a network error and is retried [S0.2]', async () => {
    const failure = await failureOf(() => fetch('http://holdfast-test.invalid/'));
    expect(failure).toMatchObject({
      verdict: 'retry',
      kind: 'network',
      code: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
    });
  });

  test('a server that resets the connection is retried [S0.2]', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await failureOf(() => fetch(`http://127.0.0.1:${port}/`))).toMatchObject({
      verdict: 'retry',
      kind: 'network',
    });
  });

  test('a server that hangs up without an answer is retried [S0.2]', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.end()));
    expect(await failureOf(() => fetch(`http://127.0.0.1:${port}/`))).toEqual({
      verdict: 'retry',
      kind: 'network',
      code: 'UND_ERR_SOCKET',
    });
  });

  test('a body that breaks off is retried [S0.2]', async () => {
    const url = await httpServer((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    });
    const response = await fetch(url);
    expect(await failureOf(() => response.text())).toMatchObject({ verdict: 'retry', kind: 'network' });
  });

  test('an abort by AbortSignal.timeout is a timeout and is retried [S0.2]', async () => {
    const port = await tcpServer(() => {});
    const act = () => fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(20) });
    expect(await failureOf(act)).toMatchObject({ verdict: 'retry', kind: 'timeout' });
  });

  test('an abort without a reason of its own is a timeout to whoever did not ask for it [S0.2]', async () => {
    const port = await tcpServer(() => {});
    const controller = new AbortController();
    const act = () => {
      const answer = fetch(`http://127.0.0.1:${port}/`, { signal: controller.signal });
      controller.abort();
      return answer;
    };
    expect(await failureOf(act)).toMatchObject({ verdict: 'retry', kind: 'timeout' });
  });

  test('an address that cannot be one is a mistake and is not retried [S0.2]', async () => {
    expect(await failureOf(() => fetch('http://'))).toMatchObject({
      verdict: 'fail',
      kind: 'invalid',
      code: 'ERR_INVALID_URL',
    });
    expect(await failureOf(() => fetch('nonsense:1'))).toMatchObject({ verdict: 'fail', kind: 'unknown' });
  });
});

describe('real failures of undici', () => {
  test('a server that never answers is a headers timeout and is retried [S0.2]', async () => {
    const port = await tcpServer(() => {});
    const dispatcher = agent({ headersTimeout: 50 });
    const failure = await failureOf(() => request(`http://127.0.0.1:${port}/`, { dispatcher }));
    expect(failure).toEqual({ verdict: 'retry', kind: 'timeout', code: 'UND_ERR_HEADERS_TIMEOUT' });
  });

  test('a body that stops coming is a body timeout and is retried [S0.2]', async () => {
    const url = await httpServer((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
    });
    const { body } = await request(url, { dispatcher: agent({ bodyTimeout: 50 }) });
    expect(await failureOf(() => body.text())).toEqual({
      verdict: 'retry',
      kind: 'timeout',
      code: 'UND_ERR_BODY_TIMEOUT',
    });
  });

  test('a closed port is a network error and is retried [S0.2]', async () => {
    const port = await closedPort();
    const failure = await failureOf(() => request(`http://127.0.0.1:${port}/`, { dispatcher: agent() }));
    expect(failure).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' });
  });
});
