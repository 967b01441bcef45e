import { describe, expect, test } from 'vitest';
import type { WireMessage } from '../transport/broker.ts';
import { fromRecord, toRecord } from './kafka-record.ts';

const message: WireMessage = {
  key: 'a',
  attributes: { specversion: '1.0', id: '1', type: 'order.placed', datacontenttype: 'application/json' },
  headers: { traceparent: '00-1', ce_note: 'mine', 'Content-Type': 'of mine', h_x: 'y' },
  body: Buffer.from('{}'),
};

function textsOf(headers: ReadonlyMap<Uint8Array, Uint8Array>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [String(name), String(value)]));
}

describe('a record of Kafka', () => {
  test("carries a message by CloudEvents' binding, and headers that look like attributes under another name [S1.5]", () => {
    const { key, value, headers } = toRecord(message);
    expect([String(key), String(value)]).toEqual(['a', '{}']);
    expect(textsOf(headers)).toEqual({
      ce_specversion: '1.0',
      ce_id: '1',
      ce_type: 'order.placed',
      'content-type': 'application/json',
      traceparent: '00-1',
      h_ce_note: 'mine',
      'h_Content-Type': 'of mine',
      h_h_x: 'y',
    });
  });

  test('is read as the message that was written [S1.5]', () => {
    const { key = null, value, headers } = toRecord(message);
    const { sourceId, ...read } = fromRecord('kafka:order@0@1', { key, value, headers: [...headers] });
    expect([sourceId, read]).toEqual(['kafka:order@0@1', message]);
  });

  test('of foreign make may have a header twice, of which the last counts, and one that is null or no text [S1.10]', () => {
    const bytes = (text: string): Buffer => Buffer.from(text);
    const headers = [
      [bytes('h_own'), bytes('1')],
      [bytes('twice'), bytes('first')],
      [bytes('twice'), bytes('last')],
      [bytes('none'), null],
      [bytes('raw'), Buffer.from([0xff])],
    ] as const;
    const read = fromRecord('kafka:legacy@0@0', { key: null, value: null, headers });
    expect(read.headers).toEqual({ h_own: '1', twice: 'last', none: '', raw: '/w==' });
    expect([read.key, read.body.length]).toEqual([undefined, 0]);
  });

  test('keeps a header whose name every object has [S1.10]', () => {
    const headers = [[Buffer.from('__proto__'), Buffer.from('1')]] as const;
    const read = fromRecord('kafka:legacy@0@0', { key: null, value: null, headers });
    expect(Object.entries(read.headers)).toEqual([['__proto__', '1']]);
    expect(
      Object.entries(fromRecord('', { key: null, value: null, headers: [...toRecord(read).headers] }).headers),
    ).toEqual([['__proto__', '1']]);
  });
});
