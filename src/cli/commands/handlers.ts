import type { By, Operator } from '../../operator/operator.ts';
import type { HandlerRefusal, Limited, Paused, Resumed, Retired } from '../../operator/operator-outcomes.ts';
import type { HandlerRecord } from '../../operator/operator-records.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { formatAge } from '../duration.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { subVerb } from '../page-options.ts';
import { describeRefusal } from '../refusal.ts';

const VERBS = ['pause', 'resume', 'retire', 'limit'] as const;
type Verb = (typeof VERBS)[number];

/** `holdfast handlers`: who handles what; pauses, resumes, retires and limits one. */
export const handlers: Command = {
  name: 'handlers',
  summary: 'List the handlers; pause, resume, retire or limit one.',
  args: { usage: '[pause|resume|retire <name> · limit <name> <n>|off]', min: 0, max: 3 },
  verbs: VERBS,
  options: {
    service: { value: '<name>', summary: 'only handlers of this service' },
    reason: { value: '<text>', summary: 'why, for the audit' },
    'discard-open': { summary: 'with retire: give up what it has not handled' },
  },
  details: [
    'A paused handler keeps its messages; what runs goes on. A retired one gets no further messages: for handlers whose',
    'code is gone. A limit is how many of its messages run at once in each process, whatever its code says.',
  ],
  examples: [
    'holdfast handlers',
    'holdfast handlers pause send-receipt',
    'holdfast handlers retire expenses/old-report',
    'holdfast handlers limit send-receipt 2',
  ],
  run: async (invocation) => {
    const { args, options, output } = invocation;
    const [word, name, amount] = args;
    if (word !== undefined) return change(invocation, subVerb('handlers', VERBS, word), name, amount);
    const service = options.text('service');
    const all = await (await openOperator(invocation)).handlers();
    const shown = service === undefined ? all : all.filter((one) => one.service === service);
    output.answer({ handlers: shown }, () => show(invocation, shown));
    return EXIT.ok;
  },
};

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
    { title: 'LIMIT', value: (one) => one.limit, align: 'right' },
    { title: 'PINNED', value: (one) => (one.isPinned ? 'yes' : 'no') },
    { title: 'REPEATABLE', value: (one) => (one.isRepeatable ? 'yes' : 'no') },
    { title: 'REGISTERED', value: (one) => formatAge(one.registeredAt.getTime(), nowMs) },
  ]);
}

function stateOf({ types, pausedAt }: HandlerRecord, nowMs: number): string {
  if (types.length === 0) return 'retired';
  return pausedAt === undefined ? 'on' : `paused ${formatAge(pausedAt.getTime(), nowMs)}`;
}

async function change(
  invocation: Invocation,
  verb: Verb,
  name: string | undefined,
  amount: string | undefined,
): Promise<number> {
  const { options, output } = invocation;
  if (name === undefined) throw usageError(`name the handler: holdfast handlers ${verb} <name>`);
  if (options.flag('discard-open') && verb !== 'retire') throw usageError('--discard-open goes with retire');
  if (amount !== undefined && verb !== 'limit')
    throw usageError(`handlers ${verb} does not take ${JSON.stringify(amount)}`);
  const limit = verb === 'limit' ? limitOf(name, amount) : undefined;
  const operator = await openOperator(invocation);
  const outcome = await apply(invocation, operator, { verb, name, limit, by: byWhom(invocation) });
  output.answer({ handler: name, ...outcome }, () => output.line(describe(outcome, name)));
  return EXIT.ok;
}

function limitOf(name: string, amount: string | undefined): number | undefined {
  if (amount === 'off') return undefined;
  if (amount === undefined || !/^[1-9]\d{0,4}$/.test(amount)) {
    throw usageError(`say how many at once: holdfast handlers limit ${name} <n>, or off for what its code says`);
  }
  return Number(amount);
}

type Outcome = Exclude<Paused | Resumed | Retired | Limited, HandlerRefusal | { kind: 'has-workers' | 'has-open' }>;

interface Change {
  readonly verb: Verb;
  readonly name: string;
  readonly limit: number | undefined;
  readonly by: By;
}

async function apply(invocation: Invocation, operator: Operator, { verb, name, limit, by }: Change): Promise<Outcome> {
  const outcome = await {
    pause: () => operator.pause(name, by),
    resume: () => operator.resume(name, by),
    retire: () => retire(invocation, operator, name, by),
    limit: () => operator.limit(name, limit, by),
  }[verb]();
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
    case 'limited':
      return outcome.limit === undefined
        ? `${name} runs as many at once as its code says.`
        : `${name} runs at most ${outcome.limit} at once in each process.`;
    case 'unchanged':
      return `${name} was so already.`;
    default:
      return outcome satisfies never;
  }
}
