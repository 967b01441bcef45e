import { afterAll, expect, onTestFinished } from 'vitest';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { type PrivateNats, privateNats } from '../transport/private-nats.ts';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { outage } from './outage.ts';
import { storm } from './storm.ts';

const test = needs('postgres', 'natsServer');

/** One for both tests; each leaves it running. */
let server: PrivateNats | undefined;
afterAll(() => server?.remove());

async function started(program: string): Promise<PrivateNats> {
  if (server) return server;
  server = await privateNats(program);
  await server.start();
  return server;
}

test(
  'NATS: of thousands of messages none is lost, none has a second effect and keys keep their order, whatever is killed, hung or cut [S0.8] [S1.9] [S1.12]',
  { timeout: 600_000 },
  async ({ postgres, natsServer }) => {
    const nats = await started(natsServer.url);
    const proxy = await TcpProxy.open({ host: '127.0.0.1', port: nats.port }, systemEffects);
    onTestFinished(() => proxy.close());
    const broker = { kind: 'nats', port: proxy.port } as const;
    const about = { postgres, broker, messages: amount(1_200, 10_000), members: 3, hardTroubles: amount(1, 3) };
    const ledger = await storm({ ...about, server: { ...nats, proxy } });
    console.log(`ledger of NATS: ${JSON.stringify(ledger)}`);
    for (const [what, count] of Object.entries(ledger)) expect(count, what).toBeGreaterThan(0);
  },
);

test(
  'NATS: while it is silent messages wait, memory does not grow with them, and when it goes on each has one effect [S1.5]',
  { timeout: 600_000 },
  async ({ postgres, natsServer }) => {
    const nats = await started(natsServer.url);
    const report = await outage({ postgres, broker: { kind: 'nats', port: nats.port }, server: nats });
    console.log(`outage of NATS: ${JSON.stringify(report)}`);
  },
);
