import type { By, Operator } from '../../operator/operator.ts';
import type { HandlerRefusal, Paused, Resumed, Retired } from '../../operator/operator-outcomes.ts';
import type { HandlerRecord } from '../../operator/operator-records.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { formatAge } from '../duration.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { describeRefusal } from '../refusal.ts';

const VERBS = ['pause', 'resume', 'retire'] as const;
type Verb = (typeof VERBS)[number];

/** `holdfast handlers`: who handles what; pauses, resumes and retires one. */
export const handlers: Command = {
  name: 'handlers',
  summary: 'List the handlers; pause, resume or retire one.',
  args: { usage: '[pause|resume|retire <name>]', min: 0, max: 2 },
  options: {
    service: { value: '<name>', summary: 'only handlers of this service' },
    reason: { value: '<text>', summary: 'why, for the audit' },
    'discard-open': { summary: 'with retire: give up what it has not handled' },
  },
  details: [
    'A paused handler keeps its messages; what runs goes on. A retired one gets no further messages: for handlers whose',
    'code is gone.',
  ],
  examples: [
    'holdfast handlers',
    'holdfast handlers pause send-receipt',
    'holdfast handlers retire expenses/old-report',
  ],
  run: async (invocation) => {
    const { args, options, output } = invocation;
    const [word, name] = args;
    if (word !== undefined) return change(invocation, verbOf(word), name);
    const service = options.text('service');
    const all = await (await openOperator(invocation)).handlers();
    const shown = service === undefined ? all : all.filter((one) => one.service === service);
    output.answer({ handlers: shown }, () => show(invocation, shown));
    return EXIT.ok;
  },
};

function verbOf(word: string): Verb {
  const verb = VERBS.find((one) => one === word);
  if (verb === undefined) throw usageError(`handlers cannot ${JSON.stringify(word)}; write ${VERBS.join(', ')}`);
  return verb;
}

function show({ io, output }: Invocation, shown: readonly HandlerRecord[]): void {
  if (shown.length === 0) {
    output.line('No handlers. They register when a service calls hf.start(), or holdfast relay runs it.');
    return;
  }
  const nowMs = io.effects.now().wallMs;
  output.table(shown, [
    { title: 'HANDLER', value: (one) => `${one.service}/${one.handler}`, shrinkTo: 12 },
    { title: 'TYPES', value: (one) => one.types.join(', '), shrinkTo: 10 },
    { title: 'STATE', value: (one) => stateOf(one, nowMs), shrinkTo: 8 },
    {
      title: 'WORKERS',
      value: (one) => one.workers.length,
      align: 'right',
      paint: (text, one) => (one.workers.length === 0 && one.types.length > 0 ? output.paint.red(text) : text),
    },
    { title: 'PINNED', value: (one) => (one.isPinned ? 'yes' : 'no') },
    { title: 'REPEATABLE', value: (one) => (one.isRepeatable ? 'yes' : 'no') },
    { title: 'REGISTERED', value: (one) => formatAge(one.registeredAt.getTime(), nowMs) },
  ]);
}

function stateOf({ types, pausedAt }: HandlerRecord, nowMs: number): string {
  if (types.length === 0) return 'retired';
  return pausedAt === undefined ? 'on' : `paused ${formatAge(pausedAt.getTime(), nowMs)}`;
}

async function change(invocation: Invocation, verb: Verb, name: string | undefined): Promise<number> {
  const { options, output } = invocation;
  if (name === undefined) throw usageError(`name the handler: holdfast handlers ${verb} <name>`);
  if (options.flag('discard-open') && verb !== 'retire') throw usageError('--discard-open goes with retire');
  const operator = await openOperator(invocation);
  const outcome = await apply(invocation, operator, verb, name, byWhom(invocation));
  output.answer({ handler: name, ...outcome }, () => output.line(describe(outcome, name)));
  return EXIT.ok;
}

type Outcome = Exclude<Paused | Resumed | Retired, HandlerRefusal | { kind: 'has-workers' | 'has-open' }>;

async function apply(invocation: Invocation, operator: Operator, verb: Verb, name: string, by: By): Promise<Outcome> {
  const outcome =
    verb === 'pause'
      ? await operator.pause(name, by)
      : verb === 'resume'
        ? await operator.resume(name, by)
        : await retire(invocation, operator, name, by);
  switch (outcome.kind) {
    case 'unknown-handler':
    case 'ambiguous-handler':
      throw new CliError(describeRefusal(outcome, name));
    case 'has-workers':
      throw new CliError(
        `${counted(outcome.workers.length, 'worker')} still ${outcome.workers.length === 1 ? 'serves' : 'serve'} ${name} (${outcome.workers.join(', ')}); deploy without it first`,
      );
    case 'has-open':
      throw new CliError(
        `${name} has ${outcome.open} open and ${outcome.failed} failed deliveries; deal with them first, or add --discard-open to give them up`,
      );
    default:
      return outcome;
  }
}

async function retire(invocation: Invocation, operator: Operator, name: string, by: By): Promise<Retired> {
  const first = await operator.retire(name, by);
  if (first.kind !== 'has-open' || !invocation.options.flag('discard-open')) return first;
  const what = `${first.open} open and ${first.failed} failed deliveries`;
  if (!(await confirm(invocation, `Give up ${what} of ${name}?`, 'refuse'))) throw new CliError('nothing was changed');
  return operator.retire(name, by, { discardOpen: true });
}

function describe(outcome: Outcome, name: string): string {
  switch (outcome.kind) {
    case 'paused':
      return `${name} is paused. holdfast handlers resume ${name} goes on.`;
    case 'already-paused':
      return `${name} was paused already.`;
    case 'resumed':
      return `${name} goes on.`;
    case 'not-paused':
      return `${name} was not paused.`;
    case 'retired':
      return `${name} is retired; ${counted(outcome.discarded, 'delivery', 'deliveries')} given up.`;
    default:
      return outcome satisfies never;
  }
}
