import { expect, onTestFinished, test } from 'vitest';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { privatePostgres } from '../crash/private-postgres.ts';
import { openSteps } from './steps.ts';

const here = (port: number): { host: string; port: number } => ({ host: '127.0.0.1', port });

test('When the database crashes and its standby takes over, every message whose commit was answered has its effect, once [X.3] [X.18]', async () => {
  const primary = await privatePostgres();
  const proxy = await TcpProxy.open(here(primary.port), systemEffects);
  onTestFinished(() => proxy.close());
  const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
  const { hf, send, effects } = await openSteps(url, true);
  const standby = await primary.standby();
  const running = await hf.start({ pollMs: 50, leaseMs: 2_000 });
  onTestFinished(() => running.stop({ drainMs: 50 }));
  const answered: number[] = [];
  let n = 0;
  const sendUntil = async (count: number): Promise<void> => {
    for (; answered.length < count; n += 1) if (await send(n)) answered.push(n);
  };
  await sendUntil(100);
  await expect.poll(async () => Object.keys(await effects()).length).toBeGreaterThan(10);
  // Nobody has told the service: it sends and handles on while there is no server.
  const sending = sendUntil(250);
  await primary.crash();
  await standby.promote();
  proxy.lead(here(standby.port));
  proxy.cut();
  await sending;
  const missing = async (): Promise<readonly number[]> => {
    const seen = await effects();
    return answered.filter((one) => !(one in seen));
  };
  await expect.poll(missing).toEqual([]);
  expect(Object.entries(await effects()).filter(([, times]) => times !== 1)).toEqual([]);
});
