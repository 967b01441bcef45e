import { expect, test } from 'vitest';
import { idempotency, idempotent, memoryIdempotency } from '../../src/idempotency/index.ts';

test('whole numbers that JavaScript would round are compared as they were written [S1.2]', async () => {
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const handler = idempotent(idem, { person: 'anyone' }, async () => new Response('done'));
  const statusOf = async (body: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'one' };
    return (await handler(new Request('http://shop.example/pay', { method: 'POST', headers, body }))).status;
  };
  expect(await statusOf('{"account":9007199254740993,"amount":1.0}')).toBe(200);
  expect(await statusOf('{"amount":1,"account":9007199254740993}')).toBe(200);
  expect(await statusOf('{"account":9007199254740992,"amount":1.0}')).toBe(422);
});
