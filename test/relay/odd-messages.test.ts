import { describe, expect } from 'vitest';
import { event } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const tick = event('tick');

/** What sending comes to, and that the transaction goes on after it. */
async function outcome({ inTransaction }: TestService, send: (tx: never) => Promise<unknown>): Promise<string> {
  return inTransaction(async (tx) => {
    const result = await send(tx as never).then(
      () => 'sent',
      (error: { readonly code?: string }) => String(error.code),
    );
    await tx.query('select 1');
    return result;
  });
}

describe('a message', () => {
  test('whose payload is null is refused, and the transaction goes on', async ({ postgres }) => {
    const service = await testService(postgres);
    expect(await outcome(service, (tx) => service.hf.send(tx, tick, null))).toBe('PAYLOAD_INVALID');
  });

  test('with text that cannot be stored is refused, and the transaction goes on', async ({ postgres }) => {
    const service = await testService(postgres);
    const { hf } = service;
    for (const bad of ['a\u0000b', '\ud800']) {
      for (const name of ['target', 'correlationId', 'causationId', 'tracestate'] as const) {
        expect(await outcome(service, (tx) => hf.send(tx, tick, {}, { [name]: bad }))).toBe('INVALID_OPTIONS');
      }
      expect(await outcome(service, (tx) => hf.send(tx, tick, {}, { headers: { a: bad } }))).toBe('INVALID_OPTIONS');
      expect(await outcome(service, (tx) => hf.send(tx, tick, {}, { headers: { [bad]: 'a' } }))).toBe(
        'INVALID_OPTIONS',
      );
      const about = event('tick', { aggregate: () => ({ type: 'order', id: bad }) });
      expect(await outcome(service, (tx) => hf.send(tx, about, {}))).toBe('INVALID_OPTIONS');
    }
    expect(await service.column('select id from $.delivery')).toEqual([]);
  });

  test('for a time that no database knows is refused, and one for long ago is due', async ({ postgres }) => {
    const service = await testService(postgres);
    const { hf } = service;
    const send = (deliverAt: Date): Promise<string> => outcome(service, (tx) => hf.send(tx, tick, {}, { deliverAt }));
    expect(await send(new Date(8.64e15))).toBe('INVALID_OPTIONS');
    expect(await send(new Date('+010000-01-01T00:00:00Z'))).toBe('INVALID_OPTIONS');
    expect(await send(new Date('9999-12-31T23:59:59Z'))).toBe('sent');
    expect(await send(new Date(-8.64e15))).toBe('sent');
    expect(await send(new Date(0))).toBe('sent');
    expect(await service.column('select state::int from $.delivery order by seq')).toEqual([1, 0, 0]);
  });
});
