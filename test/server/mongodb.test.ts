import { expect } from 'vitest';
import { operatorServer } from '../../src/server/index.ts';
import { remoteOperator } from '../../src/server/remote-operator.ts';
import { operatedShop } from '../mongodb/operated-shop.ts';
import { needs } from '../support/needs.ts';

const test = needs('mongodb');

test('a server over a MongoDB answers what there is, refuses the rest with 501, and a remote operator tells the same [S1.8]', async ({
  mongodb,
}) => {
  const { send, start, dead, operator, state, done } = operatedShop(mongodb);
  await send(['bad1', 1], ['good', 2]);
  await start();
  const [letter] = await dead(1);
  const server = operatorServer({ operator, tokens: [{ actor: 'ann', role: 'admin', token: 's'.repeat(32) }] });
  const ask = (path: string, init: RequestInit = {}) =>
    server.fetch(
      new Request(`http://ops.test/${path}`, {
        ...init,
        headers: { authorization: `Bearer ${'s'.repeat(32)}` },
      }),
    );
  expect(await (await ask('api/session')).json()).toMatchObject({ actor: 'ann', store: 'mongodb' });
  expect(await (await ask('readyz')).json()).toEqual({ status: 'ready' });
  for (const path of [
    'overview',
    'messages',
    'messages/tabs',
    'dead-letters',
    'groups',
    'handlers',
    'stats',
    'keys',
    'audit',
    'system',
    'idempotency',
  ])
    expect([path, (await ask(`api/${path}`)).status]).toEqual([path, 200]);
  for (const path of ['trace?id=x', 'breakers', 'bulk', 'commands', 'calls', 'audit/verify']) {
    const refused = await ask(`api/${path}`);
    expect([path, refused.status, refused.headers.get('content-type')]).toEqual([
      path,
      501,
      'application/problem+json',
    ]);
    expect(await refused.json()).toMatchObject({
      code: 'NOT_ON_MONGODB',
      next: expect.stringContaining('docs/mongodb.md') as unknown,
    });
  }
  const remote = remoteOperator({
    url: 'http://ops.test/',
    token: 's'.repeat(32),
    fetch: (url, init) => server.fetch(new Request(url, init)),
  });
  await expect(remote.breakers()).rejects.toMatchObject({ code: 'NOT_ON_MONGODB' });
  state.isMended = true;
  expect(await remote.replay(letter?.id ?? '', { actor: 'ann', reason: 'mended' })).toEqual({
    kind: 'replayed',
    count: 1,
  });
  await expect.poll(() => done.toSorted()).toEqual(['bad1:1', 'good:2']);
  expect((await remote.audit()).items).toMatchObject([{ actor: 'ann', verb: 'replay', reason: 'mended' }]);
  await server.close();
});
