import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { TRIED_HARDER } from './adapters.ts';
import { newOrder, openEffects, outcome, type Placed, send, settled } from './orders.ts';
import { type StepProcess, stepProcess } from './step-process.ts';

const test = needs('postgres', 'redis');
const PROGRAM = new URL('step-server.ts', import.meta.url);
const HOURS = 3_600_000;
const ROUTES = ['rerun', 'atomic'] as const;

describe.each(TRIED_HARDER)('$name on servers whose clocks differ', (adapter) => {
  test(`${adapter.name}: hours between the clocks of servers change neither leases nor the time replies are kept [S1.3] [X.15]`, async ({
    postgres,
    redis,
  }) => {
    const effects = await openEffects(postgres);
    const place = { redis: { url: redis.url, prefix: `${redis.namespace}:` }, effects: effects.place };
    const options = { ...place, adapter: adapter.name, stops: true, leaseMs: 1_000, keepMs: HOURS };
    const [right, ahead, behind] = await Promise.all(
      [0, 3 * HOURS, -3 * HOURS].map((skewMs) => stepProcess(PROGRAM, options, skewMs)),
    );
    if (right === undefined || ahead === undefined || behind === undefined) throw new Error('three were started');
    const servers = [right, ahead, behind];

    // Kept for an hour: three of them have not passed for anybody.
    for (const route of ROUTES) {
      for (const by of servers) {
        const order = newOrder(route);
        const { text } = await send(by.urls, order);
        for (const { urls } of servers)
          expect(await send(urls, order)).toMatchObject({ status: 201, text, isReplay: true });
        expect(await effects.count(order)).toBe(1);
      }
    }
    // Kept for a second: that has passed for everybody when it has for the store.
    await Promise.all(
      ['brief', 'brief in postgres'].map(async (route) => {
        const order = newOrder(route);
        expect(await send(ahead.urls, order)).toMatchObject({ status: 201, isReplay: false });
        await expect.poll(async () => (await send(right.urls, order)).isReplay).toBe(false);
        expect(await effects.count(order)).toBe(2);
      }),
    );
    // While one runs, nobody takes over: a minute has passed for none of them.
    const held = (route: string): { by: StepProcess; order: Placed }[] =>
      servers.map((by) => ({ by, order: newOrder(route, 'before-effect') }));
    const [running, patient] = [ROUTES.flatMap(held), ['patient', 'patient in postgres'].flatMap(held)];
    const answers = [...running, ...patient].map(({ by, order }) => outcome(send(by.urls, order)));
    for (const by of servers) await by.held(answers.length / servers.length);
    for (const { by, order } of patient) {
      for (const { urls } of servers.filter((other) => other !== by)) {
        expect(await send(urls, order)).toMatchObject({ status: 409, problem: 'in-flight' });
      }
    }
    // Killed, its lease ends for everybody when the store says so: a second later, not hours.
    await Promise.all([ahead.kill(), behind.kill()]);
    right.go();
    await Promise.all(answers);
    await Promise.all(
      running.map(async ({ by, order }) => {
        expect(await settled(right.urls, order)).toMatchObject({ status: 201, isReplay: by === right });
        expect(await effects.count(order)).toBe(1);
      }),
    );
  });
});
