import { jetstream } from '@nats-io/jetstream';
import { connect as connectNats } from '@nats-io/transport-node';
import { connect } from 'amqplib';
import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventHandlerClassifier, serviceCallClassifier } from '../../src/retry/classifier.ts';
import { needs } from '../support/needs.ts';
import { closedPort, tcpServer, thrownBy } from './local-servers.ts';

describe('real failures of amqplib', () => {
  test('a closed port is transient [S4.3]', async () => {
    const port = await closedPort();
    const error = await thrownBy(() => connect(`amqp://127.0.0.1:${port}`));
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' });
  });

  test('a broker that resets the connection is transient [S4.3]', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const error = await thrownBy(() => connect(`amqp://127.0.0.1:${port}`));
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNRESET' });
  });

  test('one that hangs up in the handshake leaves no code, so the error is unknown [S4.3]', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.end()));
    const error = await thrownBy(() => connect(`amqp://127.0.0.1:${port}`));
    expect(eventHandlerClassifier(error)).toEqual({ verdict: 'retry', kind: 'unknown' });
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'fail', kind: 'unknown' });
  });
});

describe('real failures of the client of NATS', () => {
  const onServer = needs('nats');

  test('a closed port of NATS is transient [S4.3]', async () => {
    const servers = `127.0.0.1:${await closedPort()}`;
    const error = await thrownBy(() => connectNats({ servers, reconnect: false }));
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' });
  });

  onServer(
    'nobody who listens is transient, and so is a connection that has ended [S4.3]',
    async ({ nats: { url } }) => {
      const connection = await connectNats({ servers: url, reconnect: false });
      onTestFinished(() => connection.close());
      const unheard = await thrownBy(() => connection.request('nobody.listens', '', { timeout: 5_000 }));
      expect(serviceCallClassifier(unheard)).toMatchObject({ verdict: 'retry', kind: 'broker' });
      const unstored = await thrownBy(() => jetstream(connection).publish('nobody.listens'));
      expect(serviceCallClassifier(unstored)).toMatchObject({ verdict: 'retry', kind: 'broker' });
      await connection.close();
      const closed = await thrownBy(() => connection.request('nobody.listens'));
      expect(serviceCallClassifier(closed)).toMatchObject({ verdict: 'retry', kind: 'network' });
    },
  );
});

describe('real failures of kafkajs', () => {
  async function failingProducer(port: number, retries: number): Promise<unknown> {
    const retry = { retries, initialRetryTime: 1, maxRetryTime: 1 };
    const kafka = new Kafka({
      brokers: [`127.0.0.1:${port}`],
      logLevel: logLevel.NOTHING,
      retry,
      connectionTimeout: 500,
    });
    const producer = kafka.producer();
    onTestFinished(() => producer.disconnect());
    return thrownBy(() => producer.connect());
  }

  test('a closed port is transient, and one attempt is not called nested [S4.3]', async () => {
    const failure = serviceCallClassifier(await failingProducer(await closedPort(), 0));
    expect(failure).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' });
  });

  test('its own retries are noticed [S4.3]', async () => {
    const failure = serviceCallClassifier(await failingProducer(await closedPort(), 2));
    expect(failure).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNREFUSED', nestedAttempts: 3 });
  });

  test('a broker that hangs up is transient [S4.3]', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.end()));
    expect(serviceCallClassifier(await failingProducer(port, 0)).verdict).toBe('retry');
  });
});
