import { BULK_OUTCOMES, BULK_STATES, BULK_VERBS, type Bulk, type BulkItem } from '../../operator/bulk.ts';
import type { Operator } from '../../operator/operator.ts';
import { describeBulk, showPlan, unknownBulk } from '../bulk-words.ts';
import { watchBulk } from '../bulk-watch.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { FILTER_OPTIONS, givenFilters, readFilter } from '../dead-letter-options.ts';
import { formatAge } from '../duration.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { PAGE_OPTIONS, pageOf, sayMore, subVerb, wordOf } from '../page-options.ts';
import { paintState } from '../paint.ts';
import { rateOf } from '../replay-selection.ts';

const VERBS = ['plan', 'start', 'pause', 'resume', 'cancel', 'show', 'watch', 'list'] as const;
type Verb = (typeof VERBS)[number];

/** `holdfast bulk`: one act on many dead letters, that survives restarts. */
export const bulk: Command = {
  name: 'bulk',
  summary: 'Replay or discard many dead letters as one durable operation: plan it, start it, watch it.',
  args: { usage: '[plan replay|discard · start|pause|resume|cancel|show|watch <id>]', min: 0, max: 2 },
  verbs: VERBS,
  options: {
    ...FILTER_OPTIONS,
    id: { value: '<id>', summary: 'plan: dead letters by their ids', multiple: true },
    limit: {
      value: '<n>',
      summary: 'plan: at most so many, the oldest failure first; lists: how many',
      default: '100000; 50',
    },
    canary: { value: '<n>', summary: 'plan replay: so many first, the rest only if all of them succeed' },
    rate: { value: '<n>', summary: 'plan: at most so many a second' },
    generation: { value: '<n>', summary: 'plan replay: process them in this generation' },
    reason: { value: '<text>', summary: 'why, for the audit; a discard needs one' },
    watch: { summary: 'start, resume: go on watching' },
    interval: { value: '<time>', summary: 'watch: how often it is looked at', default: '500ms' },
    state: { value: '<state>', summary: `list: ${BULK_STATES.join(', ')}` },
    outcome: { value: '<outcome>', summary: `show: only items that are ${BULK_OUTCOMES.join(', ')}` },
    cursor: PAGE_OPTIONS.cursor,
  },
  details: [
    'A plan freezes which dead letters are meant and changes nothing else; start it within an hour. Relays and holdfast serve',
    'carry a started one on, and so does watch. Ctrl-C in watch ends the watching alone. watch ends with exit code 1 when',
    'something failed again, or it was paused or cancelled.',
  ],
  examples: [
    'holdfast bulk plan replay --group 1-9f2c0a7be4d1c035 --canary 5 --rate 50',
    'holdfast bulk start 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11 --watch',
    'holdfast bulk show 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11 --outcome failed',
  ],
  run: async (invocation) => {
    const [word = 'list', subject] = invocation.args;
    const verb = subVerb('bulk', VERBS, word);
    checkOptions(invocation, verb);
    if (verb === 'list') return list(invocation);
    if (verb === 'plan') return plan(invocation, subject);
    if (subject === undefined) throw usageError(`name the operation: holdfast bulk ${verb} <id>`);
    const operator = await openOperator(invocation);
    if (verb === 'show') return show(invocation, operator, subject);
    if (verb === 'watch') return watchBulk(invocation, operator, subject);
    return change(invocation, operator, verb, subject);
  },
};

function checkOptions(invocation: Invocation, verb: Verb): void {
  const { options } = invocation;
  const planning = [
    ...givenFilters(invocation),
    ...['id', 'canary', 'rate', 'generation'].filter((one) => options.has(one)),
  ];
  if (verb !== 'plan' && planning.length > 0) {
    throw usageError(
      `${planning.map((one) => `--${one}`).join(', ')} goes with holdfast bulk plan; what a plan selects is frozen`,
    );
  }
  if (verb === 'plan' && givenFilters(invocation).length === 0 && !options.has('id') && !options.has('limit')) {
    throw usageError('say which: a filter such as --group <id> or --handler <name>, --id <id>, or --limit <n> for any');
  }
}

async function plan(invocation: Invocation, word: string | undefined): Promise<number> {
  const { options, output } = invocation;
  if (word === undefined) throw usageError(`say what: holdfast bulk plan ${BULK_VERBS.join('|')}`);
  const verb = subVerb('bulk plan', BULK_VERBS, word);
  const ids = options.list('id');
  const planned = await (
    await openOperator(invocation)
  ).planBulk(
    {
      verb,
      filter: { ...readFilter(invocation), ...(ids.length > 0 && { ids }) },
      limit: options.count('limit'),
      canary: options.count('canary', 0),
      perSecond: rateOf(options),
      generation: options.count('generation', 0),
    },
    byWhom(invocation),
  );
  output.answer(planned, () => {
    showPlan(invocation, planned);
    if (planned.bulk.total > 0)
      output.line(`\nNothing was changed. holdfast bulk start ${planned.bulk.id} begins it, within an hour.`);
  });
  return EXIT.ok;
}

async function list(invocation: Invocation): Promise<number> {
  const { io, options, output } = invocation;
  const page = await (
    await openOperator(invocation)
  ).bulks({ ...pageOf(options), state: wordOf(options, 'state', BULK_STATES) });
  const nowMs = io.effects.now().wallMs;
  output.answer(page, () => {
    if (page.items.length === 0) output.line('No bulk operations. holdfast bulk plan replay --group <id> plans one.');
    else
      output.table(page.items, [
        { title: 'ID', value: (one) => one.id },
        { title: 'DOES', value: (one) => one.verb },
        { title: 'STATE', value: (one) => one.state, paint: (text, one) => paintState(output.paint, one.state, text) },
        { title: 'ENDED', value: (one) => `${endedOf(one)} of ${one.total}`, align: 'right' },
        { title: 'FAILED', value: (one) => one.counts.failed, align: 'right' },
        { title: 'SINCE', value: (one) => formatAge((one.startedAt ?? one.createdAt).getTime(), nowMs) },
        { title: 'WHO', value: (one) => one.actor, shrinkTo: 8 },
        { title: 'WHY', value: (one) => one.pausedFor ?? one.reason, shrinkTo: 8 },
      ]);
    sayMore(output, page);
  });
  return EXIT.ok;
}

function endedOf({ total, counts }: Bulk): number {
  return total - counts.selected - counts.started;
}

async function show(invocation: Invocation, operator: Operator, id: string): Promise<number> {
  const { options, output } = invocation;
  const found = await operator.bulk(id);
  if (found.kind === 'not-found') throw unknownBulk(id);
  const outcome = wordOf(options, 'outcome', BULK_OUTCOMES);
  // What failed again is what somebody looks for.
  const page = await operator.bulkItems(id, { ...pageOf(options), outcome: outcome ?? 'failed' });
  output.answer({ bulk: found.bulk, items: page.items, next: page.next }, () => {
    describeBulk(invocation, found.bulk);
    if (page.items.length > 0) {
      output.line();
      itemTable(invocation, page.items);
    }
    sayMore(output, page);
  });
  return EXIT.ok;
}

function itemTable({ output }: Invocation, items: readonly BulkItem[]): void {
  output.table(items, [
    { title: 'DEAD LETTER', value: (one) => one.id },
    {
      title: 'OUTCOME',
      value: (one) => one.outcome,
      paint: (text, one) => paintState(output.paint, one.outcome, text),
    },
    { title: 'HANDLER', value: (one) => `${one.service}/${one.handler}`, shrinkTo: 12 },
    { title: 'KEY', value: (one) => one.key, shrinkTo: 4 },
    { title: 'CANARY', value: (one) => (one.isCanary ? 'yes' : 'no') },
    { title: 'ERROR', value: ({ error }) => error && `${error.code ?? error.name}: ${error.message}`, shrinkTo: 12 },
  ]);
}

async function change(
  invocation: Invocation,
  operator: Operator,
  verb: 'start' | 'pause' | 'resume' | 'cancel',
  id: string,
): Promise<number> {
  const { options, output } = invocation;
  const by = byWhom(invocation);
  const found = await operator.bulk(id);
  if (found.kind === 'not-found') throw unknownBulk(id);
  await ask(invocation, verb, found.bulk);
  const outcome = await {
    start: () => operator.startBulk(id, by),
    pause: () => operator.pauseBulk(id, by),
    resume: () => operator.resumeBulk(id, by),
    cancel: () => operator.cancelBulk(id, by),
  }[verb]();
  if (outcome.kind === 'not-found') throw unknownBulk(id);
  if (outcome.kind === 'refused') throw new CliError(outcome.problem);
  if (options.flag('watch') && (verb === 'start' || verb === 'resume')) return watchBulk(invocation, operator, id);
  output.answer(outcome, () => {
    output.line(`${id} is ${outcome.bulk.state}.`);
    if (verb === 'start' || verb === 'resume') output.line(`holdfast bulk watch ${id} shows how it goes.`);
  });
  return EXIT.ok;
}

const ASKS = { replay: 'Replay', discard: 'Discard', republish: 'Publish again' } as const;

/** What cannot be undone asks first: giving up many, and never beginning the rest. */
async function ask(invocation: Invocation, verb: string, { verb: does, total, counts, isCut }: Bulk): Promise<void> {
  const question =
    verb === 'start'
      ? `${ASKS[does]} ${counted(total, does === 'republish' ? 'message' : 'dead letter')}${isCut ? ' (of more)' : ''}?`
      : verb === 'cancel'
        ? `Never begin the ${counted(counts.selected, does === 'republish' ? 'message' : 'dead letter')} that are left?`
        : undefined;
  if (question === undefined) return;
  if (verb === 'start' && does === 'discard') invocation.options.required('reason', `'test data'`);
  const isKind = verb === 'start' && does !== 'discard';
  if (!(await confirm(invocation, question, isKind ? 'go-on' : 'refuse'))) throw new CliError('nothing was changed');
}
