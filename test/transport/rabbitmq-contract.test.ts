import { describe, expect, onTestFinished } from 'vitest';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import { transportContract } from '../../src/testing/index.ts';
import { needs } from '../support/needs.ts';
import { dropTopology } from '../support/rabbitmq-server.ts';

const test = needs('rabbitmq');

describe('RabbitMQ', () => {
  let prefixes = 0;
  for (const { name, run } of transportContract()) {
    test(`${name} [S0.8] [S1.5]`, async ({ rabbitmq: { url, namespace } }) => {
      const prefix = `${namespace}.${(prefixes += 1)}.`;
      onTestFinished(() => dropTopology(url, prefix, ['order', 'invoice'], ['mail', 'books', 'other']));
      await expect(run({ open: () => rabbitmqBroker({ url, prefix }) })).resolves.toBeUndefined();
    });
  }
});
