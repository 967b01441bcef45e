import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asUnprivileged, probePostgres } from './postgres-server.ts';
import { freePort, freshFolder, type RunningServer, startPrivate } from './private-server.ts';

/** Puts a PgBouncer in transaction mode in front of the PostgreSQL at `target`. Stop it after use. */
export async function startPgbouncer(
  program: string,
  target: string,
): Promise<RunningServer & { readonly url: string }> {
  const { hostname, port, username, password, pathname } = new URL(target);
  const own = await freePort();
  const folder = freshFolder('pgbouncer');
  const file = join(folder, 'pgbouncer.ini');
  const login = [
    `host=${hostname}`,
    `port=${port || '5432'}`,
    `user=${username}`,
    ...(password ? [`password=${password}`] : []),
  ];
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: own,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: 10,
    max_client_conn: 200,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(file, `[databases]\n* = ${login.join(' ')}\n[pgbouncer]\n${lines.join('\n')}\n`);
  const url = `postgres://${username}@127.0.0.1:${own}${pathname}`;
  const running = await startPrivate({
    name: 'pgbouncer',
    folder,
    server: [...asUnprivileged().prefix, program, file],
    stopSignal: 'SIGINT',
    probe: () => probePostgres(url),
  });
  return { ...running, url };
}
