import type { SystemRecord } from '../../operator/system-record.ts';
import { EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatAge, formatDuration } from '../duration.ts';
import { openOperator } from '../open-operator.ts';

/** `holdfast system`: processes, tables, and what is wrong with them. */
export const system: Command = {
  name: 'system',
  summary: 'Show the live workers, how the tables are, and who keeps the database from cleaning up.',
  options: {},
  details: ['holdfast doctor looks further, and at the settings of the server.'],
  examples: ['holdfast system'],
  run: async (invocation) => {
    const record = await (await openOperator(invocation)).system();
    invocation.output.answer(record, () => show(invocation, record));
    return EXIT.ok;
  },
};

const KIB = 1_024;

function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [left, unit] = [count, 0];
  while (left >= KIB && unit < units.length - 1) [left, unit] = [left / KIB, unit + 1];
  return `${left >= 10 || unit === 0 ? Math.round(left) : left.toFixed(1)} ${units[unit] ?? ''}`;
}

function show({ io, output }: Invocation, record: SystemRecord): void {
  const { paint } = output;
  const nowMs = io.effects.now().wallMs;
  const { schema, oldestSnapshot: snapshot } = record;
  output.fields([
    ['holdfast', record.version],
    [
      'schema',
      schema.expected === 0
        ? schema.name
        : `${schema.name}, version ${schema.version}${schema.version === schema.expected ? '' : `, this release expects ${schema.expected}`}`,
    ],
    ['server', record.server],
    ['work', record.isPaused ? 'everything is paused; holdfast resume goes on' : 'goes on'],
    ['history', record.historySince && `since ${formatAge(record.historySince.getTime(), nowMs)}`],
    [
      'oldest snapshot',
      snapshot &&
        `${snapshot.what} ${snapshot.id}${snapshot.user === undefined ? '' : ` of ${snapshot.user}`}${snapshot.application === undefined ? '' : ` (${snapshot.application})`}${snapshot.ageMs === undefined ? '' : `, ${formatDuration(snapshot.ageMs)}`}`,
    ],
  ]);
  output.line();
  if (record.workers.length === 0)
    output.line(paint.yellow('No worker lives; start a service that calls hf.start(), or holdfast relay.'));
  else
    output.table(record.workers, [
      { title: 'WORKER', value: (one) => one.name, shrinkTo: 10 },
      { title: 'SERVICE', value: (one) => one.service, shrinkTo: 8 },
      { title: 'GENERATION', value: (one) => one.generation, align: 'right' },
      { title: 'UNITS', value: (one) => one.units, align: 'right' },
      { title: 'RUNS', value: (one) => one.running.length, align: 'right' },
      { title: 'JOINED', value: (one) => formatAge(one.joinedAt.getTime(), nowMs) },
      { title: 'ALIVE UNTIL', value: (one) => formatAge(one.expiresAt.getTime(), nowMs) },
      { title: 'KEEPS HOUSE', value: (one) => (one.isHousekeeper ? 'yes' : 'no') },
    ]);
  output.line();
  output.table(record.tables, [
    { title: 'TABLE', value: (one) => one.table },
    { title: 'ROWS', value: (one) => one.rows.toLocaleString('en-US'), align: 'right' },
    { title: 'DEAD', value: (one) => one.deadRows.toLocaleString('en-US'), align: 'right' },
    { title: 'SIZE', value: (one) => bytes(one.bytes), align: 'right' },
    { title: 'INDEXES', value: (one) => bytes(one.indexBytes), align: 'right' },
    { title: 'VACUUMED', value: (one) => one.vacuumedAt && formatAge(one.vacuumedAt.getTime(), nowMs) },
  ]);
  const marks = { ok: paint.green('ok'), warning: paint.yellow('warning'), problem: paint.red('problem') };
  if (record.findings.length > 0) output.line();
  for (const { level, title, advice } of record.findings) {
    output.line(`${marks[level]}  ${title}`);
    if (advice !== undefined) output.line(`    → ${advice}`);
  }
}
