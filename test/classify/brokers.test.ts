import { connect } from 'amqplib';
import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventHandlerClassifier, serviceCallClassifier } from '../../src/retry/classifier.ts';
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
