import { describe, expect, test } from 'vitest';
import type { AmqpMessage } from './amqp-client.ts';
import { inboundOf, propertiesOf } from './amqp-message.ts';

const body = Buffer.from('{"n":1}');

function found(properties: AmqpMessage['properties'], content: Uint8Array = body): AmqpMessage {
  return { content, fields: { deliveryTag: 1, exchange: 'order', routingKey: 'order.placed' }, properties };
}

function sent(id: string): Parameters<typeof propertiesOf>[0] {
  return {
    type: 'order.placed',
    key: 'k1',
    isDead: false,
    attributes: {
      specversion: '1.0',
      id,
      source: 'shop',
      type: 'order.placed',
      time: '2026-01-02T03:04:05.678Z',
      datacontenttype: 'application/json',
    },
    headers: { traceparent: '00-aa-bb-01' },
    body,
  };
}

describe('a message on its way to RabbitMQ', () => {
  test('is a CloudEvent in binary mode, with the properties that foreign consumers look for [S1.5]', () => {
    expect(propertiesOf(sent('7'), 'p1')).toEqual({
      persistent: true,
      contentType: 'application/json',
      messageId: '7',
      type: 'order.placed',
      appId: 'shop',
      timestamp: 1767323045,
      headers: {
        traceparent: '00-aa-bb-01',
        cloudEvents_specversion: '1.0',
        cloudEvents_id: '7',
        cloudEvents_source: 'shop',
        cloudEvents_type: 'order.placed',
        cloudEvents_time: '2026-01-02T03:04:05.678Z',
        cloudEvents_partitionkey: 'k1',
        'holdfast-place': 'p1',
      },
    });
  });

  test('whose id is longer than a property may be has it in its header only [S1.5]', () => {
    const id = 'ü'.repeat(128);
    expect(propertiesOf(sent(id), 'p1')).toMatchObject({ messageId: undefined, headers: { cloudEvents_id: id } });
  });
});

describe('a message found in a queue', () => {
  test('is named by exchange, routing key, message id and publication [S1.6]', () => {
    const message = found(propertiesOf(sent('7'), 'p1'));
    expect(inboundOf(message)).toEqual({
      sourceId: 'amqp:order@order.placed@7/p1',
      key: 'k1',
      attributes: { ...sent('7').attributes, partitionkey: 'k1' },
      headers: { traceparent: '00-aa-bb-01' },
      body,
    });
  });

  test('may have its attributes with a colon, and headers that are no text [S1.6]', () => {
    const headers = {
      'cloudEvents:specversion': '1.0',
      'cloudEvents:id': '7',
      'cloudEvents:type': 'order.paid',
      'x-delivery-count': 3,
      count: 2,
      flag: true,
      bytes: Buffer.from('ab'),
      table: { a: [1] },
    };
    const message = inboundOf(found({ headers }));
    expect(message).toMatchObject({
      sourceId: 'amqp:order@order.placed@7',
      attributes: { type: 'order.paid', id: '7' },
    });
    expect(message.headers).toEqual({ count: '2', flag: 'true', bytes: 'ab', table: '{"a":[1]}' });
  });

  test('that is no CloudEvent has the attributes its properties name [S1.6]', () => {
    const properties = { messageId: '9', appId: 'till', timestamp: 1767323045, contentType: 'application/json' };
    expect(inboundOf(found(properties)).attributes).toEqual({
      id: '9',
      type: 'order.placed',
      source: 'till',
      time: '2026-01-02T03:04:05.000Z',
      datacontenttype: 'application/json',
    });
  });

  test('may say nonsense, and is handed over all the same: it would hold up all behind it [S1.6]', () => {
    const headers = { deep: { big: [2n ** 60n] }, none: null, when: { '!': 'timestamp', value: 1 } };
    for (const timestamp of [1e300, Number.NaN, -1, (2n ** 62n) as unknown as number])
      expect(inboundOf(found({ headers, timestamp })).headers).toMatchObject({ none: 'null' });
  });

  test('without any id is known by all it says, and not by how often it came [S1.6]', () => {
    const idOf = (message: AmqpMessage): string => inboundOf(message).sourceId;
    const first = idOf(found({ headers: { a: 1 } }));
    expect(idOf(found({ headers: { a: 1, 'x-delivery-count': 1 } }))).toBe(first);
    expect(idOf(found({ headers: { a: 2 } }))).not.toBe(first);
    expect(idOf(found({ headers: { a: 1 } }, Buffer.from('{}')))).not.toBe(first);
    expect(idOf(found({ headers: { a: 1 }, timestamp: 1 }))).not.toBe(first);
  });
});
