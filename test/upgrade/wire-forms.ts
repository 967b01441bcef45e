import { fromRecord, toRecord } from '../../src/kafka/kafka-record.ts';
import { headersOf, inboundOf as fromNats } from '../../src/nats/nats-message.ts';
import { inboundOf as fromAmqp, propertiesOf } from '../../src/rabbitmq/amqp-message.ts';
import { fromFields, toFields } from '../../src/redis/stream-entry.ts';
import type { InboundMessage, OutboundMessage } from '../../src/transport/broker.ts';

/** One way of writing messages: what a broker is given, as JSON can hold it, and what is made of that when it is read. */
interface WireForm {
  readonly write: (message: OutboundMessage) => unknown;
  readonly read: (written: never) => InboundMessage;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

interface KafkaForm {
  readonly key?: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface AmqpForm {
  readonly content: string;
  readonly properties: object;
}

interface NatsForm {
  readonly data: string;
  readonly headers: readonly (readonly [string, string])[];
}

/** What each transport puts on the wire. */
export const WIRE_FORMS: Readonly<Record<string, WireForm>> = {
  kafka: {
    write: (message): KafkaForm => {
      const { key, value, headers } = toRecord(message);
      const named = [...headers].map(([name, bytes]) => [text(name), text(bytes)]);
      return { ...(key && { key: text(key) }), value: text(value), headers: Object.fromEntries(named) as never };
    },
    read: ({ key, value, headers }: KafkaForm) =>
      fromRecord('kafka:order@0@7', {
        key: key === undefined ? null : Buffer.from(key),
        value: Buffer.from(value),
        headers: Object.entries(headers).map(([name, one]) => [Buffer.from(name), Buffer.from(one)] as const),
      }),
  },
  rabbitmq: {
    write: (message): AmqpForm => ({
      content: text(message.body),
      properties: propertiesOf(message, 'order#7'),
    }),
    read: ({ content, properties }: AmqpForm) =>
      fromAmqp({
        content: Buffer.from(content),
        fields: { exchange: 'order', routingKey: 'order.placed', redelivered: false, deliveryTag: 1 },
        properties,
      } as never),
  },
  redis: {
    write: (message) => toFields(message),
    read: (fields: readonly string[]) => fromFields('redis:order@7-0', fields),
  },
  nats: {
    write: (message): NatsForm => ({ data: text(message.body), headers: headersOf(message) }),
    read: ({ data, headers }: NatsForm) =>
      fromNats({
        subject: 'order.order.placed',
        data: Buffer.from(data),
        headers: headers.map(([name, value]) => [name, [value]] as const),
        info: { stream: 'order', streamSequence: 7 },
        timestampNanos: '1',
      } as never),
  },
};
