import { expect, test } from 'vitest';
import { operatorServer } from '../../src/server/index.ts';
import { scriptedOperator } from '../server/serving.ts';

const LOCAL = { host: 'localhost:4747' };

/** What a server without tokens answers. */
async function statusOf(peer: string | undefined, headers: Record<string, string>): Promise<number> {
  const { operator } = scriptedOperator();
  const { fetch } = operatorServer({ operator, consoleFiles: false, localOnly: true });
  return (await fetch(new Request('http://localhost/api/session', { headers }), { peer })).status;
}

test('without tokens the loopback addresses themselves are answered, and no other that a mesh may use [X.9]', async () => {
  for (const peer of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
    expect([peer, await statusOf(peer, LOCAL)]).toEqual([peer, 200]);
  for (const peer of [undefined, '127.0.0.6', '127.0.0.2', '::ffff:127.0.0.6', '10.0.0.1', '::']) {
    expect([peer, await statusOf(peer, LOCAL)]).toEqual([peer, 403]);
  }
});

test('without tokens a request with any header of a proxy is refused [X.9]', async () => {
  for (const name of [
    'Forwarded',
    'Via',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Forwarded-Port',
    'X-Forwarded-Prefix',
    'X-Forwarded-Server',
    'X-Real-IP',
    'X-Scheme',
    'X-Original-URI',
    'X-Original-Forwarded-For',
    'X-Envoy-External-Address',
    'X-Envoy-Expected-Rq-Timeout-Ms',
    'X-Cluster-Client-IP',
    'X-Client-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'CF-Ray',
    'CDN-Loop',
    'Fastly-Client-IP',
    'Fly-Client-IP',
    'X-Amzn-Trace-Id',
  ]) {
    expect([name, await statusOf('127.0.0.1', { ...LOCAL, [name]: '1' })]).toEqual([name, 403]);
  }
});
