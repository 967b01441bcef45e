import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { sharedPlace } from '../idempotency-stores/postgres-stores.ts';
import type { TestServer } from '../support/needs.ts';
import { type Answered, call } from './call.ts';
import type { Order, Step, StepServerOptions } from './steps.ts';

/** One order of one client, which may be sent several times. */
export interface Placed extends Order {
  readonly route: string;
  readonly key: string;
}

/** A new one, for that route, to stop there. */
export function newOrder(route: string, stopAt: Step | 'nowhere' = 'nowhere'): Placed {
  return { route, stopAt, key: randomUUID(), order: `${route} ${stopAt} ${randomUUID()}` };
}

/** Sends it to one of the servers. */
export function send(urls: Readonly<Record<string, string>>, placed: Placed): Promise<Answered> {
  const { route, stopAt, key, order } = placed;
  const headers = { 'x-person': stopAt, 'x-order': order };
  return call(urls[route] ?? '', 'order', { key, headers, body: { order, stopAt } });
}

/** Sends it until nothing of it runs any more, and its store answers. */
export async function settled(urls: Readonly<Record<string, string>>, placed: Placed): Promise<Answered> {
  let answer: Answered | undefined;
  const isOver = async (): Promise<boolean> => {
    answer = await send(urls, placed);
    return answer.problem !== 'in-flight' && answer.problem !== 'store-down';
  };
  await expect.poll(isOver).toBe(true);
  return answer as Answered;
}

/** What came of a request whose server may die: an answer, the beginning of one, or nothing. */
export async function outcome(answer: Promise<Answered>): Promise<Answered | 'cut' | 'half'> {
  try {
    return await answer;
  } catch (error) {
    return (error as Error).message === 'terminated' ? 'half' : 'cut';
  }
}

/** A table that takes every effect as often as it comes. */
export interface Effects {
  readonly place: StepServerOptions['effects'];
  /** How often that order took effect. */
  count(placed: Placed): Promise<number>;
}

/** Opens it for one test, in a schema that has our tables too. */
export async function openEffects(server: TestServer): Promise<Effects> {
  const { url, schema } = await sharedPlace(server);
  const admin = new Pool({ connectionString: url, max: 4 });
  onTestFinished(() => admin.end());
  await admin.query(`create table if not exists ${schema}.effect (line text not null)`);
  return {
    place: { url, schema },
    count: async ({ order }) =>
      (await admin.query(`select line from ${schema}.effect where line = $1`, [order])).rows.length,
  };
}
