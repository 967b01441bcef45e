import { systemEffects } from '../system/effects.ts';
import { addressesOf } from './broker-way.ts';
import type { ApiOptions, ChildOptions } from './child-line.ts';
import { Crew, type Member } from './crew.ts';
import { openFrontRedis } from './front-redis.ts';
import { FRONT_PROCESSES, type FrontSettings, prefixOf } from './settings.ts';
import type { Front } from './site.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** What the front is put together with. */
export interface FrontParts {
  readonly front: FrontSettings;
  readonly id: string;
  readonly cwd: string;
  readonly leaseMs: number;
  readonly shared: ChildOptions;
  /** The way to an address through a proxy of the drill: one for each address. */
  readonly proxied: (address: string) => Promise<TcpProxy>;
  /** Called at the end, the last one first. */
  readonly opened: (() => Promise<unknown> | void)[];
}

/** Opens Redis and the API processes, each behind a proxy. */
export async function openFront(parts: FrontParts, signal: AbortSignal): Promise<Front> {
  const { front, id, cwd, leaseMs, shared, proxied, opened } = parts;
  const prefix = `${prefixOf(id)}replies:`;
  const redis = await openFrontRedis(front, prefix);
  opened.push(() => redis.remove());
  const redisProxies: TcpProxy[] = [];
  for (const address of addressesOf({ kind: 'redis', url: redis.way.url })) redisProxies.push(await proxied(address));
  const options: Omit<ApiOptions, 'name'> = { ...shared, redis: redis.way, prefix, leaseMs };
  const apis = new Crew({ program: 'api-process', initial: 'a', options }, cwd);
  opened.push(() => apis.remove());
  const apiProxies = new Map<Member, TcpProxy>();
  await Promise.all(
    Array.from({ length: FRONT_PROCESSES.apis }, async () => {
      const member = await apis.hire(signal);
      const proxy = await TcpProxy.open(placeOf(member), systemEffects);
      opened.push(() => proxy.close());
      apiProxies.set(member, proxy);
    }),
  );
  const replace = async (member: Member, replaced: AbortSignal): Promise<void> => {
    const proxy = apiProxies.get(member);
    await apis.kill(member);
    const next = await apis.hire(replaced);
    if (!proxy) return;
    proxy.lead(placeOf(next));
    apiProxies.delete(member);
    apiProxies.set(next, proxy);
  };
  return { apis, apiProxies, redis, redisProxies, replace };
}

function placeOf({ port = 0 }: Member): { readonly host: string; readonly port: number } {
  return { host: '127.0.0.1', port };
}
