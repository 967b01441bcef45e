import { jetstream, type JsMsg } from '@nats-io/jetstream';
import { connect, headers, type MsgHdrs } from '@nats-io/transport-node';
import { nats } from 'holdfast/nats';
import { dropStreams, withManager } from '../../test/support/nats-server.ts';
import { attributesOf, type BareMessage, Gatherer, type Side, TOPIC, TYPE } from './side.ts';

const ATTRIBUTE = 'ce-';
const NANOS = 1_000_000;
const MOST_OPEN = 1_000;
const ASKED = 500;
/** The group that reads: the service of the measure. Its consumer is as ours is made, whoever makes it. */
const GROUP = 'bench';

/** NATS JetStream through its own client: all of a batch are published, then all confirmations are waited for. */
export async function natsSide(url: string): Promise<Side> {
  const own = await connect({ servers: url });
  const version = own.info?.version;
  await own.close();
  return {
    title: 'NATS',
    version,
    // With the settings that ours makes: another stream would be another speed.
    prepare: (prefix) =>
      withManager(url, async ({ streams, consumers }) => {
        const name = streamOf(prefix);
        const settings = { discard: 'new', duplicate_window: 120_000 * NANOS } as const;
        await streams.add({ name, subjects: [`${name}.>`], ...settings });
        const acks = { ack_policy: 'explicit', ack_wait: 10_000 * NANOS, max_ack_pending: MOST_OPEN } as const;
        await consumers.add(name, { durable_name: GROUP, ...acks });
      }),
    transport: (prefix) => nats({ servers: url, prefix }),
    publisher: async (prefix) => {
      const connection = await connect({ servers: url });
      const client = jetstream(connection);
      const subject = `${streamOf(prefix)}.${TYPE}`;
      return {
        publish: async (messages) => {
          const sent = messages.map((message) =>
            client.publish(subject, message.payload, { msgID: message.id, headers: headersOf(message) }),
          );
          await Promise.all(sent);
        },
        close: () => connection.close(),
      };
    },
    consumer: async (prefix, onBatch) => {
      const connection = await connect({ servers: url });
      const consumer = await jetstream(connection).consumers.get(streamOf(prefix), GROUP);
      const gatherer = new Gatherer<JsMsg>(async (found) => {
        await onBatch(found.map(messageOf));
        for (const message of found) message.ack();
      });
      const pulling = await consumer.consume({
        max_messages: ASKED,
        callback: (message) => gatherer.push(message),
      });
      return {
        stop: async () => {
          await gatherer.stop();
          await pulling.close();
          await connection.drain();
        },
      };
    },
    count: (prefix) => withManager(url, async ({ streams }) => (await streams.info(streamOf(prefix))).state.messages),
    drop: (prefix) => dropStreams(url, streamOf(prefix)),
    close: async () => undefined,
  };
}

function streamOf(prefix: string): string {
  return `${prefix}${TOPIC}`.replaceAll('.', '-');
}

function headersOf(message: BareMessage): MsgHdrs {
  const written = headers();
  for (const [name, value] of Object.entries(attributesOf(message))) written.append(ATTRIBUTE + name, value);
  written.append(`${ATTRIBUTE}datacontenttype`, 'application/json');
  return written;
}

function messageOf(message: JsMsg): BareMessage {
  const said = (name: string): string => message.headers?.get(ATTRIBUTE + name) ?? '';
  return { id: said('id'), key: said('partitionkey'), payload: message.string() };
}
