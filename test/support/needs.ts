import { randomBytes } from 'node:crypto';
import { beforeAll, inject, test, type TestAPI } from 'vitest';
import type { Answer } from './desk.ts';
import type { Service } from './service.ts';
import { SERVICES, type ServiceName } from './services/index.ts';

/** A real server, for one test file. */
export interface TestServer {
  readonly url: string;
  /** Fresh for this file and removed after it: a schema, a key prefix, a topic prefix. Lower-case letters and digits. */
  readonly namespace: string;
}

/**
 * vitest's `test` with the named servers in its context: `needs('postgres', 'redis')('…', async ({ postgres, redis }) => …)`.
 * A server that cannot be had is a failure in CI and elsewhere a skip that says how to start it.
 */
export function needs<N extends ServiceName>(...names: N[]): TestAPI<Record<N, TestServer>> {
  const fixtures = names.map((name) => {
    let got: TestServer | string;
    // Not in the fixture: the first file that asks may wait for an installation, longer than one test may take.
    beforeAll(async () => {
      got = await enter(name);
      return async () => {
        if (typeof got !== 'string') await SERVICES_BY_NAME[name].clean?.(got.url, got.namespace);
      };
    });
    const fixture = async (
      { skip }: { skip: (note: string) => never },
      use: (value: TestServer) => Promise<void>,
    ): Promise<void> => {
      if (typeof got !== 'string') return use(got);
      if (process.env['CI'] === 'true') throw new Error(got);
      skip(got);
    };
    return [name, fixture] as const;
  });
  return test.extend(Object.fromEntries(fixtures)) as unknown as TestAPI<Record<N, TestServer>>;
}

async function enter(name: ServiceName): Promise<TestServer | string> {
  const response = await fetch(`${inject('desk')}/${name}`);
  const answer = (await response.json()) as Answer;
  const service = SERVICES_BY_NAME[name];
  if ('missing' in answer) return `needs ${name}: ${answer.missing}; ${service.howTo}`;
  const namespace = `t${randomBytes(6).toString('hex')}`;
  const url = (await service.prepare?.(answer.url, namespace)) ?? answer.url;
  return { url, namespace };
}

const SERVICES_BY_NAME: Record<ServiceName, Service> = SERVICES;
