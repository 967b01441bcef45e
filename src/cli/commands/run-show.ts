import type { CommandEvent, CommandRecord, RunRecord } from '../../commands/command-record.ts';
import type { CommandState } from '../../commands/command-state.ts';
import type { CommandStore } from '../../commands/command-store.ts';
import { runOf } from '../../commands/run-of.ts';
import { streamEvents } from '../../commands/stream-events.ts';
import { postgresCommands } from '../../postgres/commands/postgres-commands.ts';
import { boundedRunner } from '../../postgres/bounded-runner.ts';
import { checkVersion } from '../../postgres/check-version.ts';
import { quotedSchema } from '../../postgres/schema-name.ts';
import { sqlRunner } from '../../postgres/sql-runner.ts';
import { CliError, EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatAge } from '../duration.ts';
import { terminalLine } from '../table.ts';

/** `holdfast run:show <target>`: where the commands of a target stand. */
export const runShow: Command = {
  name: 'run:show',
  summary: 'Show where the modules of a run stand: the durable commands of one target.',
  args: { usage: '<target>', min: 1, max: 1 },
  options: {
    service: { value: '<name>', summary: 'only commands of this service' },
    follow: { summary: 'print each step as it happens, until all of them are done' },
  },
  details: [
    '<target> is what commands were sent to, for example the id of a workflow run. A blocked command and one in',
    'the dead letters go on with dlq:replay, and are given up with dlq:discard.',
  ],
  examples: ['holdfast run:show run_456', 'holdfast run:show run_456 --follow --json'],
  run: async (invocation) => {
    const [target = ''] = invocation.args;
    const store = await openCommands(invocation);
    const service = invocation.options.text('service');
    const run = runOf(target, await store.ofTarget(service, target));
    if (run === undefined) throw new CliError(nothing(target, service));
    if (invocation.options.flag('follow')) await follow(invocation, store, service, target);
    else invocation.output.answer(run, () => show(invocation, run));
    return EXIT.ok;
  },
};

function nothing(target: string, service: string | undefined): string {
  const whose = service === undefined ? '' : ` by the service ${JSON.stringify(service)}`;
  const sent = `no command was sent to ${JSON.stringify(target)}${whose}, or it is forgotten`;
  return `${sent}; a target is for example the id of a run, and holdfast trace <id> finds it by any other`;
}

async function openCommands({ database }: Invocation): Promise<CommandStore<never>> {
  const { driver, schema, target } = await database();
  const sql = boundedRunner(sqlRunner(driver.pool), target.statementMs);
  const quoted = quotedSchema('run:show', schema);
  await checkVersion(quoted, async (statement) => (await sql.query(statement))[0]?.['version']);
  return postgresCommands({ pool: driver.pool, schema });
}

/** Steps as they happen. Ends at a signal, and when nothing is left that could go on. */
async function follow(
  { io, output }: Invocation,
  store: CommandStore<never>,
  service: string | undefined,
  target: string,
): Promise<void> {
  const stop = new AbortController();
  const unhear = io.onSignal(() => stop.abort());
  const open = new Set((await store.ofTarget(service, target)).map(({ commandId }) => commandId));
  try {
    const read = (after: ReadonlyMap<string, number>, limit: number): Promise<readonly CommandEvent[]> =>
      store.events(service, target, after, limit);
    for await (const event of streamEvents(io.effects, read, { signal: stop.signal })) {
      const { cursor: _, ...told } = event;
      output.record(told, () => output.line(eventLine(told)));
      const isOver = event.kind === 'closed' || event.to === 'done';
      if (isOver) open.delete(event.commandId);
      else open.add(event.commandId);
      if (open.size === 0) return;
    }
  } finally {
    unhear();
  }
}

function eventLine({ at, kind, module, from, to, attempt, error, actor }: CommandEvent): string {
  const step = kind === 'moved' ? (from === undefined ? to : `${from} → ${to}`) : `${kind} as ${to}`;
  const facts = [
    attempt === 0 ? undefined : `attempt ${attempt}`,
    error && describeError(error),
    actor && `by ${actor}`,
  ].filter((fact) => fact !== undefined);
  const text = [module, step, ...(facts.length === 0 ? [] : [facts.join(', ')])].join('  ');
  return `${at.toISOString().slice(11, 23)}  ${terminalLine(text)}`;
}

function show({ io, output }: Invocation, { modules, commands }: RunRecord): void {
  const { paint } = output;
  const nowMs = io.effects.now().wallMs;
  const newest = new Map(commands.map((command) => [command.commandId, command]));
  const shown = modules.flatMap(({ commandId }) => newest.get(commandId) ?? []);
  const paints: Partial<Record<CommandState, (text: string) => string>> = {
    done: paint.green,
    blocked: paint.red,
    dlq: paint.red,
    retry_wait: paint.yellow,
  };
  output.table(shown, [
    { title: 'MODULE', value: (one) => one.module, shrinkTo: 8 },
    {
      title: 'STATE',
      value: (one) => (one.closedAt === undefined ? one.state : `${one.state}, given up`),
      paint: (text, one) => paints[one.state]?.(text) ?? text,
    },
    { title: 'TRIES', value: (one) => one.attempts, align: 'right' },
    { title: 'REPLAYS', value: (one) => one.replays, align: 'right' },
    { title: 'SINCE', value: (one) => formatAge(one.updatedAt.getTime(), nowMs) },
    { title: 'COMMAND', value: (one) => one.commandId },
    { title: 'ERROR', value: ({ error }) => error && describeError(error), shrinkTo: 12 },
  ]);
  const stuck = shown.find(isStuck);
  if (commands.length > shown.length) output.line(`\n${commands.length} commands in all; --json has them.`);
  if (stuck) output.line(`\nholdfast dlq:replay --id ${stuck.commandId} runs it again; dlq:discard gives it up.`);
}

function isStuck({ state, closedAt }: CommandRecord): boolean {
  return (state === 'blocked' || state === 'dlq') && closedAt === undefined;
}

function describeError({ code, name, message }: NonNullable<CommandRecord['error']>): string {
  return `${code ?? name}: ${message}`;
}
