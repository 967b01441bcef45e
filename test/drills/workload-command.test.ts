import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LedgerReport } from '../../src/drills/ledger.ts';
import { type Said, runHoldfast, startHoldfast } from '../cli/holdfast-process.ts';
import { runHere } from '../cli/run-here.ts';
import { amount } from '../support/amount.ts';
import { needs, type TestServer } from '../support/needs.ts';

const LOCAL = 'postgres://nobody@127.0.0.1:1/none';
const TAKEN = fileURLToPath(new URL('taken-name.config.ts', import.meta.url));
const SMALL = fileURLToPath(new URL('small.config.ts', import.meta.url));

let databases = 0;

function reportIn({ out }: Said): LedgerReport {
  const { drills } = JSON.parse(out) as { readonly drills: readonly [LedgerReport] };
  return drills[0];
}

/** A database for one test: other files run drills on the same server. */
async function ownDatabase({ url, namespace }: TestServer): Promise<string> {
  const name = `${namespace}_${(databases += 1)}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name}`);
  onTestFinished(async () => {
    await client.query(`drop database ${name} with (force)`);
    await client.end();
  });
  return Object.assign(new URL(url), { pathname: name }).href;
}

/** The schemas of drills in a database. */
async function schemasAt(url: string): Promise<readonly string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname like 'holdfast\\_drill\\_%'`,
  );
  await client.end();
  return rows.map(({ name }) => name);
}

describe('a built-in drill is refused', () => {
  test.each([
    [
      ['chaos', '--url', 'postgres://app:secret@db.example:5432/app'],
      'db.example is not this machine, and a drill breaks connections and fills tables there; pass --allow-remote db.example if that is meant',
    ],
    [
      ['load', '--via', 'kafka', '--broker', '127.0.0.1:9092,kafka.example:9092'],
      'kafka.example is not this machine, and a drill breaks connections and fills tables there; pass --allow-remote kafka.example if that is meant',
    ],
    [
      ['chaos', '--url', LOCAL, '--via', 'redis', '--broker', 'redis://10.0.0.7', '--allow-remote', '10.0.0.8'],
      '10.0.0.7 is not this machine, and a drill breaks connections and fills tables there; pass --allow-remote 10.0.0.7 if that is meant',
    ],
    [['chaos', '--fault', 'kil-worker'], 'there is no fault "kil-worker"; did you mean kill-worker?'],
    [
      ['chaos', '--url', LOCAL, '--fault', 'restart'],
      '--fault restart cannot be injected here: only a database that the drill has started is restarted; leave --url out',
    ],
    [
      ['chaos', '--fault', 'broker-outage'],
      '--fault broker-outage cannot be injected here: it needs a broker; pass --via and --broker',
    ],
    [['load', '--via', 'redis'], '--via redis needs the broker; write for example --broker redis://127.0.0.1:6379'],
    [['load', '--via', 'smoke'], '--via is "smoke"; write http, redis, rabbitmq, kafka, nats'],
    [['chaos', '--via', 'http'], '--via is "http"; write local, redis, rabbitmq, kafka, nats'],
    [['soak', '--redis', 'redis://127.0.0.1'], '--redis is for load; soak does not write over HTTP'],
    [
      ['load', '--redis', 'postgres://127.0.0.1'],
      '--redis is no address of Redis; write for example --redis redis://127.0.0.1:6379',
    ],
    [
      ['load', '--redis', 'redis://10.0.0.7'],
      '10.0.0.7 is not this machine, and a drill breaks connections and fills tables there; pass --allow-remote 10.0.0.7 if that is meant',
    ],
    [
      ['load', '--redis', 'redis://127.0.0.1', '--fault', 'redis-crash'],
      '--fault redis-crash cannot be injected here: only a Redis that the drill has started is killed; leave --redis out',
    ],
    [
      ['load', '--redis', 'redis://127.0.0.1', '--fault', 'late-commit'],
      '--fault late-commit cannot be injected here: load writes over HTTP, and not by transactions of its own',
    ],
    [['chaos', '--fault', 'kill-api'], '--fault kill-api cannot be injected here: only load writes over HTTP'],
    [['load', '--broker', 'redis://127.0.0.1'], '--broker needs --via: say which kind of broker it is'],
    [
      ['load', '--via', 'rabbitmq', '--broker', '127.0.0.1:5672'],
      '--broker is no address of rabbitmq; write for example --broker amqp://127.0.0.1:5672',
    ],
    [['chaos', '--for', '5m'], '--for is for soak; chaos takes --messages'],
    [['soak', '--messages', '5'], '--messages is not for soak; it takes --for'],
    [
      ['held', '--fault', 'cut', '--config', SMALL],
      '--fault is for chaos, load, soak; the drill "held" does not take it',
    ],
    [['chaos', '--workers', '1'], '--workers is "1"; write a whole number from 2'],
  ])('called as %j, with exit code 2 and what to write instead [X.11]', async (args, said) => {
    expect(await runHere(['drill', ...args], { env: {} })).toEqual({ code: 2, out: '', err: `error: ${said}\n` });
  });

  test('where the environment names a database of an application, that is not used [X.11]', async () => {
    const env = { DATABASE_URL: 'postgres://app:secret@db.example:5432/app' };
    const { err } = await runHere(['drill', 'chaos', '--fault', 'nothing-like-it'], { env });
    expect(err).toContain('there is no fault');
  });

  test('under its name where a module has a drill of that name [X.11]', async () => {
    const { code, err } = await runHere(['drill', '--config', TAKEN], { env: {} });
    expect([code, err]).toEqual([1, expect.stringContaining('exports a drill of the name soak, which is built in')]);
  });
});

const withServers = needs('postgres', 'redis');

withServers(
  'drill load over Redis Streams loses nothing, does nothing twice, and takes away what it made [S1.12] [X.11]',
  async ({ postgres, redis }) => {
    const url = await ownDatabase(postgres);
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-drill-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'ledger.html');
    const messages = amount(300, 10_000);
    const usual = ['kill-worker', 'cut', 'duplicate', 'failure', 'poison'];
    const faulty = usual.flatMap((fault) => ['--fault', fault]);
    const way = ['--via', 'redis', '--broker', redis.url, '--redis', redis.url, '--url', url, ...faulty];
    const much = ['--messages', String(messages), '--rounds', String(amount(1, 5)), '--seed', '3'];
    const said = await runHoldfast(['drill', 'load', ...way, ...much, '--report', file, '--json']);
    const report = reportIn(said);
    expect({ problem: report.problem, code: said.code }).toEqual({ problem: null, code: 0 });
    const { counts, faults, marks, timeline } = report.ledger ?? expect.fail('there is no ledger');
    expect(counts.sent).toBeGreaterThanOrEqual(messages);
    expect(counts).toMatchObject({ lost: 0, secondEffects: 0, orderViolations: 0, invented: 0 });
    expect(counts).toMatchObject({ effects: counts.expectedEffects, deadLetters: counts.poison });
    expect(faults.map(({ name }) => name)).toEqual(usual);
    for (const { name, hits } of faults) expect(hits, name).toBeGreaterThan(0);
    expect(marks.every(({ fault, recoveredMs }) => fault === 'duplicate' || recoveredMs !== null)).toBe(true);
    expect(counts.suppressed.sends).toBeGreaterThan(0);
    expect(counts.suppressed.arrivals).toBeGreaterThan(0);
    expect(timeline.effects.reduce((sum, one) => sum + one, 0)).toBe(counts.effects);
    expect(await readFile(file, 'utf8')).toContain('Held: nothing lost, nothing twice');
    expect(await schemasAt(url)).toEqual([]);
    const prefix = report.ledger?.settings['topics'] ?? expect.fail('it has no topics');
    const client = new Redis(redis.url);
    // The mark of who reads a stream goes by itself after a few seconds.
    const left = (await client.keys(`${prefix}*`)).filter((key) => !key.includes(':reader:'));
    client.disconnect();
    expect(left).toEqual([]);
  },
);

withServers(
  'what was injected and never hit makes a drill fail, and what it made stays only where that is asked for [X.11]',
  async ({ postgres }) => {
    const url = await ownDatabase(postgres);
    // Of five messages none is one that is mended later.
    const args = ['drill', 'chaos', '--fault', 'replay', '--messages', '5', '--workers', '2', '--url', url];
    const { code, out } = await runHoldfast([...args, '--keep']);
    expect(out).toContain('never hit, so it proves nothing');
    expect(code).toBe(1);
    expect(await schemasAt(url)).toEqual([expect.stringMatching(/^holdfast_drill_[0-9a-f]{8}$/)]);
  },
);

withServers('a drill that is stopped ends its processes and takes away what it made [X.11]', async ({ postgres }) => {
  const url = await ownDatabase(postgres);
  const running = startHoldfast(['drill', 'soak', '--for', '1h', '--workers', '2', '--url', url]);
  const sent = async (): Promise<number> => {
    const [schema] = await schemasAt(url);
    if (schema === undefined) return 0;
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from ${schema}.drill_effect`);
      return rows[0]?.n ?? 0;
    } finally {
      // Also where its table is not there yet: the database goes away by force in the end.
      await client.end();
    }
  };
  await expect.poll(() => sent().catch(() => 0)).toBeGreaterThan(0);
  running.child.kill('SIGINT');
  const { code, out, err } = await running.ended;
  expect(err).toContain('SIGINT: stopping');
  expect(out).toContain('Did not hold: it was stopped');
  expect(code).toBe(1);
  expect(await schemasAt(url)).toEqual([]);
});

needs('embeddedPostgres')(
  'without --url a drill starts a database of its own, crashes it, and leaves nothing behind [X.11]',
  async ({ embeddedPostgres: _isThere }) => {
    const faults = ['--fault', 'restart', '--fault', 'store-outage', '--fault', 'clock', '--fault', 'slow'];
    const said = await runHoldfast(['drill', 'chaos', ...faults, '--messages', '300', '--workers', '2', '--json']);
    const { problem, ledger } = reportIn(said);
    expect({ problem, code: said.code }).toEqual({ problem: null, code: 0 });
    expect(ledger?.about['PostgreSQL']).toContain('started by the drill');
    expect(ledger?.faults.map(({ hits }) => hits > 0)).toEqual([true, true, true, true]);
  },
);
