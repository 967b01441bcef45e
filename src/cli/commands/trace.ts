import {
  DEFAULT_TRACE_LIMIT,
  MAX_TRACE_LIMIT,
  type Trace,
  type TraceCandidate,
  TRACED_IDS,
  type TraceEntry,
} from '../../operator/trace.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { counted } from '../counted.ts';
import { formatDuration } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { paintFor } from '../paint.ts';
import { terminalLine } from '../table.ts';

/** Columns below which it is no table. */
const TABLE_WIDTH = 140;

/** `holdfast trace <id>`: everything one action did, by any id of it. */
export const trace: Command = {
  name: 'trace',
  summary: 'Follow one action through all services, by any id of it: request, key, event, command, run, user.',
  args: { usage: '<id>', min: 1, max: 1 },
  options: {
    limit: { value: '<n>', summary: `how many steps, up to ${MAX_TRACE_LIMIT}`, default: String(DEFAULT_TRACE_LIMIT) },
  },
  details: [
    `It is looked for among ${TRACED_IDS.join(', ')}.`,
    "The beginning of an event's id will do, from 8 characters on. Of a user the latest actions are shown.",
    'Times are UTC, by the clock of the database.',
  ],
  examples: ['holdfast trace req-8412', 'holdfast trace growth:user-1:run-7:plan:v1 --json'],
  run: async (invocation) => {
    const [id = ''] = invocation.args;
    const { options, output } = invocation;
    if (id.trim() === '') throw usageError('trace needs an id: holdfast trace <id>');
    const answer = await (await openOperator(invocation)).trace(id, { limit: options.count('limit') });
    if (answer.kind === 'bad-id') throw new CliError(`${answer.problem}; ${JSON.stringify(id.slice(0, 40))} is not`);
    if (answer.kind === 'not-found') return complain(invocation, nothing(id));
    if (answer.kind === 'ambiguous') return complain(invocation, ambiguous(id, answer.candidates, answer.isCut));
    output.answer(answer, () => show(invocation, answer));
    return EXIT.ok;
  },
};

/** A problem that needs more than one line; for programs it is one. */
function complain({ io, output }: Invocation, lines: readonly string[]): number {
  const safe = lines.map(terminalLine);
  if (output.isJson) throw new CliError(safe.join(' '));
  io.err(`${paintFor(io).red('error')}: ${safe.join('\n')}\n`);
  return EXIT.failed;
}

function nothing(id: string): readonly string[] {
  return [
    `nothing is known by ${JSON.stringify(id)}.`,
    `Looked for among ${TRACED_IDS.join(', ')}.`,
    'Finished messages and recorded facts are kept as long as the history, start({ historyMs }), 7 days unless set; idempotency keys',
    'as long as postgres({ dedupMs }) says, 7 days; finished commands 30 days; what is not finished, and the audit, for ever.',
    'Requests and outgoing calls are known only where a factRecorder keeps them.',
  ];
}

function ambiguous(id: string, candidates: readonly TraceCandidate[], isCut: boolean): readonly string[] {
  return [
    `${id} is the beginning of ${isCut ? 'many ids, such as' : 'several ids'}:`,
    ...candidates.map((one) => `  ${one.id}  ${one.createdAt.toISOString()}  ${one.type}`),
    'Write more of it.',
  ];
}

function show(invocation: Invocation, { id, as, entries, isCut }: Trace): void {
  const { io, output } = invocation;
  const services = new Set(entries.map(({ service }) => service).filter((one) => one !== undefined));
  const [first, last] = [entries[0]?.at ?? new Date(0), entries.at(-1)?.at ?? new Date(0)];
  const length = formatDuration(last.getTime() - first.getTime());
  const found = as.filter((one) => one !== 'other').join(', ');
  output.line(
    `${output.paint.bold(id)}${found === '' ? '' : `  ${found}`}  ${counted(entries.length, 'step', 'steps')} of ${counted(services.size, 'service', 'services')} in ${length}, ${first.toISOString().slice(0, 10)}`,
  );
  output.line();
  if (io.width < TABLE_WIDTH) showLines(invocation, entries);
  else showTable(invocation, entries);
  if (isCut)
    output.line(`\nThere is more than is shown; a larger --limit (up to ${MAX_TRACE_LIMIT}) shows more of it.`);
}

/** An entry with the time since the one before it. */
interface Line {
  readonly entry: TraceEntry;
  readonly sinceMs: number | undefined;
}

function linesOf(entries: readonly TraceEntry[]): readonly Line[] {
  return entries.map((entry, at) => {
    const before = entries[at - 1];
    return { entry, sinceMs: before && entry.at.getTime() - before.at.getTime() };
  });
}

function showTable({ output }: Invocation, entries: readonly TraceEntry[]): void {
  const { dim } = output.paint;
  output.table(linesOf(entries), [
    { title: 'TIME (UTC)', value: ({ entry }) => timeOf(entry) },
    { title: '+', value: sinceOf, align: 'right', paint: dim },
    { title: 'SERVICE', value: ({ entry }) => entry.service, shrinkTo: 8 },
    { title: 'STEP', value: ({ entry }) => entry.step },
    { title: 'WHAT', value: ({ entry }) => entry.what, shrinkTo: 16 },
    {
      title: 'OUTCOME',
      value: ({ entry }) => outcomeOf(entry),
      shrinkTo: 16,
      paint: (text, { entry }) => painted(output, text, entry),
    },
    { title: 'ID', value: ({ entry }) => idOf(entry), shrinkTo: 38, paint: dim },
  ]);
}

/** On two lines: in a narrow table the ids, which people copy, and the errors would be what is cut. */
function showLines({ output }: Invocation, entries: readonly TraceEntry[]): void {
  const { dim } = output.paint;
  for (const line of linesOf(entries)) {
    const { entry } = line;
    const time = timeOf(entry);
    const what = [entry.service, entry.step, entry.what].filter((part) => part !== undefined).join('  ');
    output.line(`${dim(time)}  ${terminalLine(what)}`);
    const told = [
      dim(sinceOf(line) ?? ''),
      painted(output, terminalLine(outcomeOf(entry)), entry),
      dim(terminalLine(idOf(entry) ?? '')),
    ];
    output.line(`${' '.repeat(time.length)}  ${told.filter((part) => part !== dim('')).join('  ')}`);
  }
}

function timeOf({ at }: TraceEntry): string {
  return at.toISOString().slice(11, 23);
}

function sinceOf({ sinceMs }: Line): string | undefined {
  return sinceMs === undefined ? undefined : `+${formatDuration(sinceMs)}`;
}

function outcomeOf({ outcome, detail, durationMs }: TraceEntry): string {
  const took = durationMs === undefined ? undefined : formatDuration(durationMs);
  const shown = outcome === 'failed' || outcome === 'waiting' || detail === undefined ? outcome : undefined;
  return [shown, detail, took].filter((part) => part !== undefined).join(', ');
}

function painted({ paint }: Invocation['output'], text: string, { outcome }: TraceEntry): string {
  if (outcome === 'failed') return paint.red(text);
  if (outcome === 'waiting') return paint.yellow(text);
  return outcome === 'ok' ? paint.green(text) : text;
}

/** Which id of each step matters most: with it the next command goes on. */
const SHOWN_IDS: Partial<Record<TraceEntry['step'], readonly string[]>> = {
  request: ['requestId'],
  call: ['idempotencyKey', 'requestId'],
  idempotency: ['idempotencyKey', 'recordId'],
  received: ['sourceId'],
  dead: ['dlqId'],
  command: ['dlqId', 'commandId'],
};

function idOf({ step, ids }: TraceEntry): string | undefined {
  const names = [...(SHOWN_IDS[step] ?? []), 'eventId', 'requestId', 'idempotencyKey'];
  return names.map((name) => ids[name]).find((id) => id !== undefined);
}
