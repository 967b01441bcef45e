import type { Deliveries } from '../delivery/deliveries.ts';
import type { SenderStore } from '../delivery/sender-store.ts';
import { DEFAULT_TENANT } from '../delivery/tenants.ts';

/**
 * What clients of QStash use with QSTASH_DEV=true, on every machine in the world: published in the vendor's documentation of local
 * development and in its client (`DEV_CREDENTIALS` of @upstash/qstash 2.12.0). They keep nobody out.
 */
const DEV = {
  token: 'eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=',
  keys: { current: 'sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r', next: 'sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs' },
} as const;

/** Where such a client looks. */
export const QSTASH_DEV_PORT = 8080;

/** The same deliveries, signed by the keys everybody knows and open to the token everybody knows, besides one's own. */
export function withDevCredentials<D extends Deliveries & { readonly sender: SenderStore }>(deliveries: D): D {
  const { tokens, sender } = deliveries;
  const everybody = {
    id: 'qstash-dev',
    name: 'qstash-dev',
    scopes: ['admin'],
    tenant: DEFAULT_TENANT,
    createdAt: new Date(0),
    isPublic: true,
  } as const;
  return {
    ...deliveries,
    // They never change: a client that saw others would not take this server for one of development.
    signingKeys: { get: devKeys, rotate: devKeys },
    tokens: { ...tokens, verify: async (token) => (token === DEV.token ? everybody : tokens.verify(token)) },
    sender: { ...sender, signingKeys: devKeys },
  };
}

async function devKeys(): Promise<{ readonly current: string; readonly next: string }> {
  return DEV.keys;
}
