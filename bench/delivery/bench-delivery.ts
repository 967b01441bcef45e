import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type RunningServer, startPrivate } from '../../test/support/private-server.ts';
import { SERVICES } from '../../test/support/services/index.ts';
import { findBenchServer } from '../engine/bench-database.ts';
import { type Finding, renderTable } from '../engine/finding.ts';
import { bullmqSide } from './bullmq-side.ts';
import { type Child, startChild } from './child-process.ts';
import { holdfastSide } from './holdfast-side.ts';
import { drain, publishUnderLoad, scheduled } from './measure-delivery.ts';

const MEASURES = { drain, publish: publishUnderLoad, scheduled } as const;
const NAMES = Object.keys(MEASURES) as readonly (keyof typeof MEASURES)[];
const FULL = { count: 20_000, rounds: 3, scheduled: 1_000_000 };
const QUICK = { count: 4_000, rounds: 1, scheduled: 50_000 };
const DESTINATIONS = 8;

// Progress goes beside the table, so that --json can be piped on.
const say = (line: string): void => console.error(line);

/**
 * `npm run bench -- delivery [drain|publish|scheduled …] [--quick] [--json] [--concurrency n] [--count n] [--rounds n]`: deliveries a
 * second of our server to a sink beside it, against a worker of BullMQ that calls `fetch`, with the same retries and as many at once;
 * how long publishing takes meanwhile; what a million scheduled messages cost. Gives the exit code: 1 when a goal is missed.
 */
export async function benchDelivery(args: readonly string[]): Promise<number> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { quick: flag, json: flag, concurrency: text, count: text, rounds: text, scheduled: text };
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const unknown = positionals.find((name) => !(name in MEASURES));
  if (unknown !== undefined) {
    console.error(`There is no measure "${unknown}"; there are: ${NAMES.join(', ')}`);
    return 2;
  }
  const usual = values.quick === true ? QUICK : FULL;
  const size = {
    count: Number(values.count ?? usual.count),
    rounds: Number(values.rounds ?? usual.rounds),
    scheduled: Number(values.scheduled ?? usual.scheduled),
    concurrency: Number(values.concurrency ?? 64),
  };
  const started: RunningServer[] = [];
  const start = async (one: Parameters<typeof startPrivate>[0]): Promise<void> =>
    void started.push(await startPrivate(one));
  const server = await findBenchServer();
  const machine = { node: process.version, cores: availableParallelism(), ...server.settings, ...size };
  const findings: Finding[] = [];
  let sink: Child<readonly number[]> | undefined;
  try {
    const redisUrl = await SERVICES.redis.obtain({ env: process.env, announce: say, start });
    say(
      Object.entries({ ...machine, load: loadavg()[0]?.toFixed(1) })
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    );
    sink = await startChild<readonly number[]>('sink-process.ts', [String(DESTINATIONS)]);
    for (const name of positionals.length > 0 ? (positionals as typeof NAMES) : NAMES) {
      say(name);
      const ours = async (): ReturnType<typeof holdfastSide> => holdfastSide(await server.open());
      const theirs = (): ReturnType<typeof bullmqSide> => bullmqSide(redisUrl);
      findings.push(...(await MEASURES[name]({ ours, theirs, sink, size, say })));
    }
    say(`load ${loadavg()[0]?.toFixed(1)}`);
  } finally {
    await sink?.stop();
    for (const one of started) await one.stop();
    await server.close();
  }
  console.log(
    values.json === true ? JSON.stringify({ machine, findings }, undefined, 2) : `\n${renderTable(findings)}`,
  );
  return findings.some(({ isReached }) => isReached === false) ? 1 : 0;
}
