import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { LedgerReport } from '../../src/drills/ledger.ts';
import { runHoldfast } from '../cli/holdfast-process.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { type BrokenBuild, BROKEN_BUILDS, buildWith } from './broken-builds.ts';
import { BROKEN_LOAD } from './broken-load.ts';

const WRITES = amount(300, 10_000);
const ROUNDS = amount(1, 5);
const FULL_MS = amount(120_000, 900_000);

/** What a load drill says, and its page. */
async function load(
  args: readonly string[],
  bin?: string,
): Promise<{ readonly code: unknown; readonly report: LedgerReport; readonly page: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-drill-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'ledger.html');
  const usual = ['drill', 'load', '--workers', '2', '--seed', '3', '--report', file, '--json'];
  const { code, out } = await runHoldfast([...usual, ...args], bin === undefined ? {} : { bin });
  const { drills } = JSON.parse(out) as { readonly drills: readonly [LedgerReport] };
  return { code, report: drills[0], page: await readFile(file, 'utf8') };
}

/** Every accepted write has one row, one message and one effect of each handler, and one reply; every fault hit. */
function expectAllOnce({ code, report, page }: Awaited<ReturnType<typeof load>>, faults: readonly string[]): void {
  expect({ problem: report.problem, code }).toEqual({ problem: null, code: 0 });
  const { counts, faults: injected } = report.ledger ?? expect.fail('there is no ledger');
  const http = counts.http ?? expect.fail('it did not write over HTTP');
  expect(counts.acknowledged).toBeGreaterThanOrEqual(WRITES);
  expect(counts).toMatchObject({ sent: counts.acknowledged, lost: 0, secondEffects: 0, invented: 0 });
  expect(counts).toMatchObject({ effects: counts.expectedEffects, deadLetters: counts.poison });
  const accepted = counts.acknowledged;
  expect(http).toMatchObject({ rows: accepted, messages: accepted, audited: accepted, secondRows: 0, different: 0 });
  expect(http.fromRedis).toBeGreaterThan(0);
  expect(http.fromDatabase).toBeGreaterThan(0);
  expect(http.posts).toBeGreaterThan(2 * accepted);
  expect(injected.map(({ name }) => name)).toEqual(expect.arrayContaining([...faults]));
  for (const { name, hits } of injected) expect(hits, name).toBeGreaterThan(0);
  expect(page).toContain('Held: nothing lost, nothing twice');
  expect(page).toContain('Over HTTP');
}

const onlyFaults = (faults: readonly string[]): readonly string[] => faults.flatMap((fault) => ['--fault', fault]);
const much = ['--messages', String(WRITES), '--rounds', String(ROUNDS)];
const FAILURES = ['api-failure', 'failure', 'poison'];

needs('postgres', 'redisServer')(
  'writes over HTTP have one row, one message and one effect each, whatever is killed, cut or lost by Redis [S1.12] [X.11]',
  { timeout: FULL_MS },
  async ({ postgres, redisServer: _isThere }) => {
    const faults = ['kill-worker', 'kill-api', 'cut', 'duplicate', 'redis-crash', 'redis-flush', 'redis-outage'];
    expectAllOnce(await load([...much, '--url', postgres.url]), [...faults, ...FAILURES]);
  },
);

needs('postgres', 'redisServer', 'rabbitmq')(
  'over RabbitMQ each write over HTTP has one effect in another service, whatever process is killed [S1.12] [X.11]',
  { timeout: FULL_MS },
  async ({ postgres, rabbitmq, redisServer: _isThere }) => {
    const faults = ['kill-worker', 'kill-api', 'kill-relay', 'cut', 'redis-crash', ...FAILURES];
    const way = ['--via', 'rabbitmq', '--broker', rabbitmq.url, '--url', postgres.url];
    expectAllOnce(await load([...much, ...way, ...(ROUNDS === 1 ? onlyFaults(faults) : [])]), faults);
  },
);

needs('postgres', 'redis', 'kafka')(
  'over Kafka each write over HTTP has one effect in another service, whatever process is killed [S1.12] [X.11]',
  { timeout: FULL_MS },
  async ({ postgres, redis, kafka }) => {
    // A consumer of a group that died is missed after three quarters of a minute: that is for the full amount.
    const faults = ['kill-api', 'kill-relay', 'cut', 'duplicate', 'redis-flush', ...FAILURES];
    const way = ['--via', 'kafka', '--broker', kafka.url, '--url', postgres.url, '--redis', redis.url];
    expectAllOnce(await load([...much, ...way, ...(ROUNDS === 1 ? onlyFaults(faults) : [])]), faults);
  },
);

interface Case {
  readonly broken: BrokenBuild;
  readonly fault: string;
  /** Lines of the ledger that must not hold. */
  readonly shows: readonly string[];
}

const CASES: readonly Case[] = [
  {
    broken: BROKEN_LOAD.lostRow,
    fault: 'api-failure',
    shows: ['acknowledged writes that are not there', 'rows of accepted writes'],
  },
  {
    broken: BROKEN_LOAD.secondRow,
    fault: 'api-failure',
    shows: ['second rows of one write', 'rows of accepted writes', 'messages of accepted writes'],
  },
  { broken: BROKEN_LOAD.shortReply, fault: 'api-failure', shows: ['replies that differ from the first to their key'] },
  { broken: BROKEN_LOAD.doublingConsumer, fault: 'failure', shows: ['second effects'] },
];

for (const { broken, fault, shows } of CASES) {
  needs('postgres', 'redis')(
    `the load drill catches a build ${broken.what} [S1.12] [X.11]`,
    async ({ postgres, redis }) => {
      const small = ['--messages', '200', '--wait', '3s', '--fault', fault];
      const given = [...small, '--url', postgres.url, '--redis', redis.url];
      expectCaught(await load(given, buildWith(broken)), shows);
    },
  );
}

needs(
  'postgres',
  'redis',
  'rabbitmq',
)(
  'the load drill over RabbitMQ catches a consumer without an inbox [S1.12] [X.11]',
  async ({ postgres, redis, rabbitmq }) => {
    const way = ['--via', 'rabbitmq', '--broker', rabbitmq.url, '--url', postgres.url, '--redis', redis.url];
    const small = ['--messages', '200', '--wait', '5s', '--fault', 'duplicate'];
    expectCaught(await load([...small, ...way], buildWith(BROKEN_BUILDS.noInbox)), ['second effects']);
  },
);

needs(
  'postgres',
  'redis',
  'kafka',
)(
  'the load drill over Kafka catches a relay that loses messages [S1.12] [X.11]',
  async ({ postgres, redis, kafka }) => {
    const way = ['--via', 'kafka', '--broker', kafka.url, '--url', postgres.url, '--redis', redis.url];
    const small = ['--messages', '200', '--wait', '5s', '--fault', 'failure'];
    expectCaught(await load([...small, ...way], buildWith(BROKEN_LOAD.lossyRelay)), ['effects lost']);
  },
);

function expectCaught({ code, report }: Awaited<ReturnType<typeof load>>, shows: readonly string[]): void {
  expect(report.problem).toMatch(/not as expected/);
  const failed = report.checked.filter(({ held }) => !held).map(({ what }) => what);
  expect(failed).toEqual(expect.arrayContaining([...shows]));
  expect(code).toBe(1);
}
