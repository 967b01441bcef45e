import { isDeepStrictEqual } from 'node:util';
import { isHoldfastError } from '../../../src/kernel/error.ts';
import { fromRecord, toRecord } from '../../../src/kafka/kafka-record.ts';
import type { JetStreamMessage } from '../../../src/nats/nats-library.ts';
import { headersOf, inboundOf as fromNats } from '../../../src/nats/nats-message.ts';
import { inboundOf } from '../../../src/rabbitmq/amqp-message.ts';
import { fromFields, toFields } from '../../../src/redis/stream-entry.ts';
import type { InboundMessage } from '../../../src/transport/broker.ts';
import { deadLetterOf, fromWire, isDeadCopy } from '../../../src/transport/cloud-event.ts';
import { type FuzzTarget, jsonOf, linesOf, unlessRefused, wrong } from '../target.ts';

const ID = '0198c0de-0000-7000-8000-00000000000a';
const EVENT = `ce_specversion: 1.0\nce_id: ${ID}\nce_type: order.placed\nce_source: shop\ndata: {"orderId":"ord_1"}\nkey: k`;
const WORDS = [
  'ce_',
  'ce_type: ',
  'h_',
  'key',
  'data: ',
  'content-type: ',
  '\n',
  ': ',
  '{}',
  'dlq-cycle: 1',
  'dlq-service: a',
  'traceparent: ',
];

/** What every transport does with what it found. */
function readFurther(message: InboundMessage): void {
  for (const decode of [undefined, () => ({ type: 'a', payload: 1 })]) {
    const read = unlessRefused(
      () => fromWire(message, { takenAs: (type) => type, decode }),
      (error) => isHoldfastError(error, 'MESSAGE_UNREADABLE'),
    );
    if (!read) continue;
    if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(read.id)) wrong(`the id is ${read.id}`);
    JSON.parse(read.payload);
    if (read.generation !== undefined && !Number.isSafeInteger(read.generation)) wrong('the generation is no number');
    const again = fromWire(message, { takenAs: (type) => type, decode });
    if (again?.id !== read.id) wrong('it has another id at each arrival');
  }
  if (isDeadCopy(message)) deadLetterOf(message);
}

/** What a message says: that a place has other bytes in it now is none of it. */
function shown({ incarnation: _place, ...message }: InboundMessage): unknown {
  return { ...message, body: Buffer.from(message.body).toString('base64') };
}

function sameTwice(first: InboundMessage, second: InboundMessage): void {
  if (!isDeepStrictEqual(shown(first), shown(second))) wrong('written and read again it is another');
}

const nothing = (): undefined => undefined;

/** A message as the client hands it over. */
function natsMessage(headers: readonly (readonly [name: string, value: string])[], data: Uint8Array): JetStreamMessage {
  return {
    subject: 'orders.order.placed',
    data,
    headers: Object.assign(
      headers.map(([name, value]) => [name, [value]] as const),
      { append: nothing },
    ),
    timestampNanos: 1n,
    info: { stream: 'orders', streamSequence: 1, deliverySequence: 1 },
    ack: nothing,
    ackAck: async () => true,
    nak: nothing,
    working: nothing,
  };
}

/** Messages of brokers. */
export const WIRE_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'redis-entry',
    seeds: [EVENT, `${EVENT}\nh_key: x\nh_h_a: b`, 'data_base64: /w==\nce_type: a'],
    words: WORDS,
    check: (text) => {
      const fields = linesOf(text).flat();
      const read = fromFields('redis:orders@1-0', fields);
      const names = fields.filter((_, at) => at % 2 === 0);
      const others = new Set(
        names.filter((name) => !/^(?:ce_.*|key|data|data_base64)$/s.test(name)).map((name) => name.replace(/^h_/, '')),
      );
      if (Object.keys(read.headers).length !== others.size) wrong('a header is lost');
      sameTwice(read, fromFields('redis:orders@1-0', toFields(read)));
      readFurther(read);
    },
  },
  {
    name: 'kafka-record',
    seeds: [
      EVENT,
      `content-type: application/cloudevents+json\nvalue: {"specversion":"1.0","type":"a","source":"s","id":"1","data":{}}`,
      'h_ce_x: y\nContent-Type: text/plain',
    ],
    words: [...WORDS, 'application/json', 'application/cloudevents+json', '\u00ff'],
    check: (text) => {
      const lines = linesOf(text);
      const value = lines.find(([name]) => name === 'value' || name === 'data')?.[1];
      const headers = lines.map(([name, held]) => [Buffer.from(name, 'latin1'), Buffer.from(held, 'latin1')] as const);
      const read = fromRecord('kafka:orders@0@1', {
        key: null,
        value: value === undefined ? null : Buffer.from(value),
        headers,
      });
      const { key, value: body, headers: written } = toRecord(read);
      sameTwice(read, fromRecord('kafka:orders@0@1', { key: key ?? null, value: body, headers: [...written] }));
      const names = new Set(
        headers.map(([name]) => name.toString('latin1')).filter((name) => !/^(?:ce_.*|content-type)$/is.test(name)),
      );
      if (Object.keys(read.headers).length > names.size + lines.length) wrong('a header is made up');
      if (names.has('__proto__') && !Object.hasOwn(read.headers, '__proto__')) wrong('a header is lost');
      readFurther(read);
    },
  },
  {
    name: 'amqp-message',
    seeds: [
      `{"headers":{"cloudEvents_specversion":"1.0","cloudEvents_type":"order.placed","cloudEvents_id":"${ID}"},"contentType":"application/json"}`,
      '{"headers":{"x":1,"y":{"a":[1]},"z":null},"messageId":"m","type":"t","appId":"a","timestamp":1794823200}',
      '{"contentType":"application/cloudevents+json","timestamp":1e300}',
    ],
    words: [
      '"',
      ':',
      ',',
      '{',
      '}',
      'cloudEvents_',
      'cloudEvents:',
      '"headers"',
      '"timestamp"',
      '1e99',
      '"__proto__"',
      'null',
    ],
    check: (text) => {
      const found = jsonOf(text);
      if (typeof found !== 'object' || found === null || Array.isArray(found)) return;
      const given = found as Record<string, unknown>;
      const text1 = (name: string): string | undefined => (typeof given[name] === 'string' ? given[name] : undefined);
      const { headers, timestamp } = given;
      const read = inboundOf({
        content: Buffer.from('{"a":1}'),
        fields: { deliveryTag: 1, exchange: 'e', routingKey: 'order.placed' },
        properties: {
          headers: typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : undefined,
          timestamp: typeof timestamp === 'number' ? timestamp : undefined,
          contentType: text1('contentType'),
          messageId: text1('messageId'),
          type: text1('type'),
          appId: text1('appId'),
        },
      });
      if (Object.values({ ...read.attributes, ...read.headers }).some((value) => typeof value !== 'string'))
        wrong('a value is no text');
      const isGiven = typeof headers === 'object' && headers !== null && Object.hasOwn(headers, '__proto__');
      if (isGiven && !Object.hasOwn(read.headers, '__proto__')) wrong('a header is lost');
      readFurther(read);
    },
  },
  {
    name: 'nats-message',
    seeds: [
      EVENT.replaceAll('ce_', 'ce-'),
      'Nats-Msg-Id: 1\ndata: {}\nContent-Type: application/json\nh_a%20b: c%0A',
      'ce-specversion: 1.0\nce-partitionkey: gr%C3%B6\n__proto__: x',
    ],
    words: [...WORDS, 'ce-', 'Nats-Msg-Id: ', 'Nats-', 'h_', '%0A', '%', '__proto__'],
    check: (text) => {
      // What is no UTF-8 never arrives as such.
      const lines = linesOf(text.toWellFormed());
      const data = Buffer.from(lines.find(([name]) => name === 'data')?.[1] ?? '');
      const read = fromNats(natsMessage(lines, data));
      const names = new Set(lines.map(([name]) => name));
      if (names.has('__proto__') && !Object.hasOwn(read.headers, '__proto__')) wrong('a header is lost');
      const { attributes, headers, key } = read;
      const written = headersOf({ type: '', isDead: false, attributes, headers, key, body: data });
      sameTwice(read, fromNats(natsMessage(written, data)));
      readFurther(read);
    },
  },
  {
    name: 'structured-event',
    seeds: [
      `{"specversion":"1.0","id":"${ID}","source":"shop","type":"order.placed","datacontenttype":"application/json","data":{"a":[1,2]}}`,
      '{"type":"a","data_base64":"eyJhIjoxfQ==","generation":5,"extra":{"a":1}}',
      '{"type":"a","toString":1,"constructor":2,"__proto__":{"polluted":"yes"}}',
    ],
    words: ['"', ':', ',', '{', '}', '"type"', '"data"', '"__proto__"', '"datacontenttype"', 'text/xml', 'null', '[]'],
    check: (text) => {
      const attributes = { datacontenttype: 'application/cloudevents+json; charset=utf-8' };
      readFurther({ sourceId: 's', key: undefined, attributes, headers: {}, body: Buffer.from(text) });
    },
  },
];
