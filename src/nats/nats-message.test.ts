import { describe, expect, test } from 'vitest';
import type { OutboundMessage } from '../transport/broker.ts';
import type { JetStreamMessage } from './nats-library.ts';
import { headersOf, inboundOf, messageIdOf } from './nats-message.ts';

function sent(about: Partial<OutboundMessage> = {}): OutboundMessage {
  const attributes = { specversion: '1.0', id: '7', source: 'shop', type: 'order.placed' };
  return { type: 'order.placed', key: undefined, isDead: false, attributes, headers: {}, body: Buffer.of(), ...about };
}

function found(headers: readonly (readonly [string, string])[], subject = 'order.order.placed'): JetStreamMessage {
  const nothing = (): undefined => undefined;
  const written = headers.map(([name, value]) => [name, [value]] as const);
  return {
    subject,
    data: Buffer.from('1'),
    headers: Object.assign(written, { append: nothing }),
    timestampNanos: 1_767_323_045_678_000_001n,
    info: { stream: 'order', streamSequence: 12, deliverySequence: 3 },
    ack: nothing,
    ackAck: async () => true,
    nak: nothing,
    working: nothing,
  };
}

describe('a message on its way to NATS', () => {
  test('is a CloudEvent in binary mode, whose values are written as over HTTP [S1.5]', () => {
    expect(headersOf(sent({ key: 'größe "1" 100%', headers: { traceparent: '00-aa-bb-01' } }))).toEqual([
      ['traceparent', '00-aa-bb-01'],
      ['ce-specversion', '1.0'],
      ['ce-id', '7'],
      ['ce-source', 'shop'],
      ['ce-type', 'order.placed'],
      ['ce-partitionkey', 'gr%C3%B6%C3%9Fe%20%221%22%20100%25'],
    ]);
  });

  test('arrives as it was sent, also with headers that NATS has no room for [S1.5]', () => {
    const headers = {
      'x-note': 'süß',
      'ce-id': 'not the id',
      'Nats-Msg-Id': 'nor this',
      'a b:c': 'two\r\nlines',
      h_own: ' spaces ',
      percent: '100%41',
      empty: '',
    };
    const message = sent({ key: 'größe/🦜 100%41', headers });
    const inbound = inboundOf(found(headersOf(message)));
    expect(inbound).toMatchObject({ key: message.key, headers });
    expect(inbound.attributes).toEqual({ ...message.attributes, partitionkey: message.key });
  });

  test('is known to the broker by its id; one that is sent once more on purpose is another [S1.6]', () => {
    expect(messageIdOf(sent())).toBe('7');
    expect(messageIdOf(sent({ resends: 2 }))).toBe('7/2');
    expect(messageIdOf(sent({ attributes: {} }))).toBeUndefined();
  });

  test('is known as a copy of a dead letter by whose it is and by its round [S0.9]', () => {
    const copy = (service: string, cycle: string): string | undefined =>
      messageIdOf(sent({ isDead: true, headers: { 'dlq-service': service, 'dlq-cycle': cycle } }));
    expect([copy('mail', '0'), copy('mail', '1'), copy('books', '0')]).toEqual([
      'dlq/mail/7/0',
      'dlq/mail/7/1',
      'dlq/books/7/0',
    ]);
    const unreadable = sent({ isDead: true, attributes: {}, headers: { 'dlq-source': 'nats:order@1@2' } });
    expect(messageIdOf(unreadable)).toBe('dlq//nats:order@1@2/');
  });
});

describe('a message found at NATS', () => {
  test('is known by its stream, its number and when it was stored [S1.6]', () => {
    expect(inboundOf(found([])).sourceId).toBe('nats:order@12@1767323045678000001');
  });

  test('that is no CloudEvent has its subject as its type, and the id its sender gave it [S1.6]', () => {
    expect(inboundOf(found([['Nats-Msg-Id', 'till-1']])).attributes).toEqual({ type: 'order.placed', id: 'till-1' });
    expect(inboundOf(found([], 'tills.order')).attributes).toEqual({ type: 'tills.order' });
  });

  test('in structured mode says so by its content type, and what the server wrote is no header of it [S1.6]', () => {
    const inbound = inboundOf(
      found([
        ['Content-Type', 'application/cloudevents+json'],
        ['Nats-Expected-Stream', 'order'],
        ['x', '50%'],
      ]),
    );
    expect(inbound.attributes).toMatchObject({ datacontenttype: 'application/cloudevents+json' });
    expect(inbound.headers).toEqual({ x: '50%' });
  });
});
