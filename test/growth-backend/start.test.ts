import { expect } from 'vitest';
import { run } from '../agent-chat/process.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres', 'redis');
const MAIN = '../growth-backend/main.ts';

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('the growth backend that npm start runs says where everything is, and Ctrl-C ends all of its processes [X.19]', async ({
  postgres,
  redis,
}) => {
  const DATABASE_URL = await freshDatabase(postgres);
  const env = { DATABASE_URL, REDIS_URL: redis.url, GROWTH_PREFIX: `${redis.namespace}:start:`, PORT: '0' };
  const program = run(MAIN, [], { ...env, HOLDFAST_BROUGHT_NODE: '/brought/bin' });
  const output = await program.until(/Stop +Ctrl-C/);
  expect(output).toMatch(/^ {4}export .* PATH='\/brought\/bin':"\$PATH"$/m);
  const page = /^ +Open +(\S+)/m.exec(output)?.[1] ?? '';
  expect(await (await fetch(page)).text()).toContain('/board.js');
  expect((await fetch(`${page}/console/`)).status).toBe(200);
  expect(await (await fetch(`${page}/board`)).json()).toMatchObject({ title: 'Growth backend' });
  const url = /^ +api +(\S+)$/m.exec(output)?.[1] ?? '';
  expect((await fetch(url, { method: 'POST' })).status).toBe(401);
  const pids = [...output.matchAll(/is process (\d+)$/gm)].map(([, pid]) => Number(pid));
  expect(pids.filter(isAlive)).toHaveLength(7);
  const taken = run(MAIN, [], { ...env, GROWTH_PORT: new URL(url).port });
  expect(await taken.ended).toBe(1);
  expect(taken.output()).toMatch(/^GROWTH_PORT is \d+, but not all of \d+ to \d+ are free; .*\n$/);
  program.child.kill('SIGINT');
  expect(await program.ended).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
});

test('the growth backend names what is missing or wrong at its start [X.19]', async ({ postgres }) => {
  const wrong = run(MAIN, [], { GROWTH_SPEED: 'fast', GROWTH_PORT: '-1' });
  const nowhere = run(MAIN, [], { DATABASE_URL: 'postgres://ada:secret@127.0.0.1:1/x' });
  const noRedis = run(MAIN, [], {
    DATABASE_URL: await freshDatabase(postgres),
    REDIS_URL: 'redis://ada:secret@127.0.0.1:1',
  });
  expect(await wrong.ended).toBe(1);
  expect(wrong.output()).toMatch(/^GROWTH_SPEED is "fast";.*\nGROWTH_PORT is "-1";/);
  expect(await nowhere.ended).toBe(1);
  expect(nowhere.output()).toContain('PostgreSQL does not answer where DATABASE_URL says');
  expect(nowhere.output()).not.toContain('secret');
  expect(await noRedis.ended).toBe(1);
  expect(noRedis.output()).toMatch(/^Redis does not answer where REDIS_URL says \(ECONNREFUSED\);.*\n$/);
});
