import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { type migrate, postgres } from '../../src/postgres/index.ts';
import { changedBuild } from '../support/changed-build.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs, type TestServer } from '../support/needs.ts';

const PROGRAM = fileURLToPath(new URL('release-process.ts', import.meta.url));
const stepTaken = event<{ key: string; n: number }>('step.taken', { key: ({ key }) => key });

/** A release that is one step of the schema ahead: it adds a column, and serves whom it says. */
function nextRelease(serves: number): string {
  const added = '`alter table ${schema}.delivery add column next_release text`';
  const step = `{ version: 2, name: 'next', serves: ${serves}, statements: (schema) => [${added}] },`;
  return changedBuild({ file: 'postgres/migrations.js', text: '    },\n];', instead: `    },\n    ${step}\n];` });
}

/** A worker of a release; rejects with what it said where it does not start. */
async function startRelease(folder: string, name: string, { url }: TestServer, schema: string): Promise<ChildProcess> {
  const child = fork(PROGRAM, [folder, url, schema, name], { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(said.join(''))));
  await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => undefined);
  return child;
}

async function stopped(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

needs('postgres')(
  'While a release is deployed both work side by side on the newer schema: no message is lost, none has a second effect, keys keep their order [X.18]',
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const pool = new Pool({ connectionString: server.url });
    onTestFinished(async () => {
      await pool.query(`drop table if exists ${schema}_effect`);
      await pool.end();
    });
    await pool.query(`create table ${schema}_effect (at serial, key text, n int, release text)`);
    const hf = holdfast({ service: 'steps', store: postgres({ pool, schema }) });
    let sent = 0;
    const send = async (count: number): Promise<void> => {
      for (let left = count; left > 0; left -= 1, sent += 1) {
        const tx = await pool.connect();
        await tx.query('begin');
        await hf.send(tx, stepTaken, { key: `k${sent % 7}`, n: sent });
        await tx.query('commit');
        tx.release();
      }
    };
    const effects = async (release: string): Promise<number> =>
      Number(
        (await pool.query(`select count(*) from ${schema}_effect where release like $1`, [release])).rows[0]?.['count'],
      );
    // A worker takes over lines by and by: there is always something left to do for it.
    const sendUntilSeen = async (release: string): Promise<void> => {
      do await send(10);
      while ((await effects(release)) === 0);
    };

    const [present, next] = [changedBuild(undefined), nextRelease(1)];
    const first = await startRelease(present, 'old-1', server, schema);
    await sendUntilSeen('old-1');
    // Its code is not there yet, and its schema is: what runs goes on.
    const { migrate: migrateNext } = (await import(join(next, 'dist', 'postgres', 'index.js'))) as {
      migrate: typeof migrate;
    };
    const client = await pool.connect();
    const [, applied] = await Promise.all([send(100), migrateNext(client, { schema })]);
    client.release();
    expect(applied).toEqual({ from: 1, to: 2, applied: ['next'] });
    const newer = await startRelease(next, 'new-1', server, schema);
    await sendUntilSeen('new-1');
    // One of the old release that is started anew meanwhile.
    await stopped(first);
    const again = await startRelease(present, 'old-2', server, schema);
    await sendUntilSeen('old-2');
    // And the release goes back as it came.
    await stopped(newer);
    await send(50);
    await expect.poll(() => effects('%')).toBe(sent);
    await stopped(again);
    const { rows } = await pool.query(`select key, n from ${schema}_effect order by at`);
    expect(new Set(rows.map(({ n }: { n: number }) => n)).size).toBe(sent);
    for (let key = 0; key < 7; key += 1) {
      const ns = rows.filter((row: { key: string }) => row.key === `k${key}`).map((row: { n: number }) => row.n);
      expect(ns).toEqual(ns.toSorted((a: number, b: number) => a - b));
    }
  },
);

needs('postgres')(
  'A release on whose successor’s schema it cannot work is told so when it starts [X.18]',
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const pool = new Pool({ connectionString: server.url });
    onTestFinished(() => pool.end());
    const { migrate: migrateNext } = (await import(join(nextRelease(2), 'dist', 'postgres', 'index.js'))) as {
      migrate: typeof migrate;
    };
    const client = await pool.connect();
    await migrateNext(client, { schema });
    client.release();
    await expect(startRelease(changedBuild(undefined), 'old', server, schema)).rejects.toThrow(
      /is at version 2, on which releases for version 1 do not work any more/,
    );
  },
);
