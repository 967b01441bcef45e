import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type RunningServer, startPrivate } from '../../test/support/private-server.ts';
import { SERVICES } from '../../test/support/services/index.ts';
import { findBenchServer } from '../engine/bench-database.ts';
import { renderTable, type Finding } from '../engine/finding.ts';
import { kafkaSide } from './kafka-side.ts';
import { measureSide, type Size } from './measure-side.ts';
import { natsSide } from './nats-side.ts';
import { rabbitmqSide } from './rabbitmq-side.ts';
import { redisSide } from './redis-side.ts';

const SIDES = { redis: redisSide, rabbitmq: rabbitmqSide, kafka: kafkaSide, nats: natsSide } as const;
const NAMES = Object.keys(SIDES) as readonly (keyof typeof SIDES)[];
const FULL: Size = { count: 10_000, rounds: 5 };
const QUICK: Size = { count: 2_000, rounds: 1 };

// Progress goes beside the table, so that --json can be piped on.
const say = (line: string): void => console.error(line);

/**
 * `npm run bench -- brokers [redis|rabbitmq|kafka|nats …] [--quick] [--json] [--count n] [--rounds n]`: what the relay and the consumer
 * reach over each broker, as they come, against the bare client doing the same work with hand-written statements, and against the
 * bare client without a database. Gives the exit code: 1 when a goal is missed.
 */
export async function benchBrokers(args: readonly string[]): Promise<number> {
  const options = {
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
    count: { type: 'string' },
    rounds: { type: 'string' },
  } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const unknown = positionals.find((name) => !(name in SIDES));
  if (unknown !== undefined) {
    console.error(`There is no broker "${unknown}"; there are: ${NAMES.join(', ')}`);
    return 2;
  }
  const usual = values.quick === true ? QUICK : FULL;
  const size = { count: Number(values.count ?? usual.count), rounds: Number(values.rounds ?? usual.rounds) };
  const server = await findBenchServer();
  const started: RunningServer[] = [];
  const start = async (one: Parameters<typeof startPrivate>[0]): Promise<void> =>
    void started.push(await startPrivate(one));
  const machine = { node: process.version, cores: availableParallelism(), ...server.settings, ...size };
  const findings: Finding[] = [];
  try {
    say(
      Object.entries({ ...machine, load: loadavg()[0]?.toFixed(1) })
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    );
    for (const name of positionals.length > 0 ? (positionals as typeof NAMES) : NAMES) {
      const side = await SIDES[name](await SERVICES[name].obtain({ env: process.env, announce: say, start }));
      const database = await server.open();
      say(`${side.title} ${side.version ?? ''}`);
      findings.push(...(await measureSide({ side, database, size, say })));
      await side.close();
      await database.close();
    }
    say(`load ${loadavg()[0]?.toFixed(1)}`);
  } finally {
    for (const one of started) await one.stop();
    await server.close();
  }
  console.log(
    values.json === true ? JSON.stringify({ machine, findings }, undefined, 2) : `\n${renderTable(findings)}`,
  );
  return findings.some(({ isReached }) => isReached === false) ? 1 : 0;
}
