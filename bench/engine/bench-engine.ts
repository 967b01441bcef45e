import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { findBenchServer } from './bench-database.ts';
import { renderTable, type Bench, type Finding } from './finding.ts';
import { backlog } from './measure-backlog.ts';
import { blockedKey, heldTransaction } from './measure-disturbed.ts';
import { bulkSend, drainEffect, drainEffects, drainNothing } from './measure-drain.ts';
import { singleSend, wakeUp } from './measure-send.ts';
import { telemetry } from './measure-telemetry.ts';

const MEASURES: Readonly<Record<string, (bench: Bench) => Promise<Finding[]>>> = {
  drain: drainNothing,
  effect: drainEffect,
  effects: drainEffects,
  'bulk-send': bulkSend,
  send: singleSend,
  'wake-up': wakeUp,
  backlog,
  'held-transaction': heldTransaction,
  'blocked-key': blockedKey,
  telemetry,
};

// Progress goes beside the table, so that --json can be piped on.
const say = (line: string): void => console.error(line);

/**
 * `npm run bench -- engine [measure …] [--quick] [--json]`: the engine as it comes against graphile-worker, pg-boss and
 * hand-written statements, all in one run on one server. Gives the exit code: 1 when a goal is missed.
 */
export async function benchEngine(args: readonly string[]): Promise<number> {
  const options = { quick: { type: 'boolean' }, json: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const unknown = positionals.find((name) => MEASURES[name] === undefined);
  if (unknown !== undefined) {
    console.error(`There is no measure "${unknown}"; there are: ${Object.keys(MEASURES).join(', ')}`);
    return 2;
  }
  const server = await findBenchServer();
  const machine = { node: process.version, cores: availableParallelism(), ...server.settings };
  const isQuick = values.quick === true;
  const findings: Finding[] = [];
  try {
    say(
      Object.entries(machine)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    );
    for (const name of positionals.length > 0 ? positionals : Object.keys(MEASURES)) {
      say(name);
      const database = await server.open();
      findings.push(...((await MEASURES[name]?.({ database, isQuick, say })) ?? []));
      await database.close();
    }
  } finally {
    await server.close();
  }
  console.log(
    values.json === true ? JSON.stringify({ machine, findings }, undefined, 2) : `\n${renderTable(findings)}`,
  );
  return findings.some(({ isReached }) => isReached === false) ? 1 : 0;
}
