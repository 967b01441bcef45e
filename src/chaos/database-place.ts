import type { NetConnectOpts } from 'node:net';

/** Where a URL of PostgreSQL leads to, as connections name it and as a proxy connects. */
export function databasePlace(url: string): [place: string, target: NetConnectOpts] {
  const parsed = new URL(url);
  const host = parsed.searchParams.get('host') ?? decodeURIComponent(parsed.hostname.replace(/^\[|\]$/g, ''));
  const port = Number(parsed.port || 5432);
  if (host.startsWith('/')) {
    const path = `${host}/.s.PGSQL.${port}`;
    return [path, { path }];
  }
  return [`${host || 'localhost'}:${port}`, { host: host || 'localhost', port }];
}
