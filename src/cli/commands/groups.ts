import { ERROR_GROUP_STATES, type ErrorGroup } from '../../operator/error-group.ts';
import type { Operator } from '../../operator/operator.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { counted } from '../counted.ts';
import { formatAge } from '../duration.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { PAGE_OPTIONS, pageOf, sayMore, subVerb, wordOf } from '../page-options.ts';

const VERBS = ['show', 'resolve', 'ignore', 'reopen'] as const;

/** `holdfast groups`: dead letters by cause. */
export const groups: Command = {
  name: 'groups',
  summary: 'List dead letters by cause; show, resolve, ignore or reopen one.',
  args: { usage: '[show|resolve|ignore|reopen <id>]', min: 0, max: 2 },
  verbs: VERBS,
  options: {
    state: { value: '<state>', summary: ERROR_GROUP_STATES.join(', ') },
    service: { value: '<name>', summary: 'whose handler failed' },
    handler: { value: '<name>', summary: 'the handler, or service/handler' },
    type: { value: '<type>', summary: 'the type of the messages' },
    search: { value: '<text>', summary: "part of the error's name, code or message" },
    pending: { summary: 'only those with dead letters that nobody has dealt with' },
    ...PAGE_OPTIONS,
    reason: { value: '<text>', summary: 'why, for the audit' },
  },
  details: [
    'A group is one handler, one type and one fingerprint of the error. A resolved one opens by itself when it happens',
    'again; an ignored one calls nobody. holdfast bulk plan replay --group <id> replays all of a group.',
  ],
  examples: [
    'holdfast groups --pending',
    'holdfast groups show 1-9f2c0a7be4d1c035',
    `holdfast groups resolve 1-9f2c0a7be4d1c035 --reason 'account opened'`,
  ],
  run: async (invocation) => {
    const { args, options, output } = invocation;
    const [word, id] = args;
    if (word !== undefined) return ofOne(invocation, subVerb('groups', VERBS, word), id);
    const filter = {
      state: wordOf(options, 'state', ERROR_GROUP_STATES),
      service: options.text('service'),
      handler: options.text('handler'),
      type: options.text('type'),
      search: options.text('search'),
      ...(options.flag('pending') && { isPending: true }),
      ...pageOf(options),
    };
    const page = await (await openOperator(invocation)).groups(filter);
    output.answer(page, () => {
      if (page.items.length === 0) output.line('No error groups. Nothing that fits has failed.');
      else table(invocation, page.items);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};

const STEPS = '▁▂▃▄▅▆▇█';

function table({ io, output }: Invocation, items: readonly ErrorGroup[]): void {
  const { paint } = output;
  const nowMs = io.effects.now().wallMs;
  const paints = { open: paint.red, resolved: paint.green, ignored: paint.grey };
  output.table(items, [
    { title: 'GROUP', value: (group) => group.id },
    { title: 'STATE', value: (group) => group.state, paint: (text, group) => paints[group.state](text) },
    { title: 'WAIT', value: (group) => group.pending, align: 'right' },
    { title: 'IN ALL', value: (group) => group.total, align: 'right' },
    { title: 'LAST 24 H', value: trendOf },
    { title: 'LAST', value: (group) => formatAge(group.lastSeenAt.getTime(), nowMs) },
    { title: 'HANDLER', value: (group) => `${group.service}/${group.handler}`, shrinkTo: 12 },
    { title: 'TYPE', value: (group) => group.type, shrinkTo: 8 },
    { title: 'ERROR', value: errorOf, shrinkTo: 16 },
  ]);
}

function trendOf({ trend }: ErrorGroup): string {
  const most = Math.max(1, ...trend);
  return trend.map((one) => (one === 0 ? '·' : STEPS[Math.ceil((one / most) * STEPS.length) - 1])).join('');
}

function errorOf({ error }: ErrorGroup): string {
  return `${error.code ?? error.name}: ${error.message}`;
}

async function ofOne(invocation: Invocation, verb: (typeof VERBS)[number], id: string | undefined): Promise<number> {
  const { output } = invocation;
  if (id === undefined) throw usageError(`name the group: holdfast groups ${verb} <id>`);
  const operator = await openOperator(invocation);
  if (verb === 'show') return show(invocation, operator, id);
  const by = byWhom(invocation);
  const outcome = await {
    resolve: () => operator.resolveGroup(id, by),
    ignore: () => operator.ignoreGroup(id, by),
    reopen: () => operator.reopenGroup(id, by),
  }[verb]();
  if (outcome.kind === 'not-found') throw unknownGroup(id);
  output.answer(outcome, () => {
    const { group } = outcome;
    output.line(`${group.id} is ${group.state}${outcome.kind === 'unchanged' ? ' already' : ''}.`);
    if (verb === 'resolve' && group.pending > 0) {
      output.line(
        `${counted(group.pending, 'dead letter')} of it still wait: holdfast bulk plan replay --group ${group.id}`,
      );
    }
  });
  return EXIT.ok;
}

function unknownGroup(id: string): CliError {
  return new CliError(`there is no error group ${id}; holdfast groups lists them`);
}

async function show(invocation: Invocation, operator: Operator, id: string): Promise<number> {
  const { io, output } = invocation;
  const found = await operator.group(id);
  if (found.kind === 'not-found') throw unknownGroup(id);
  const { group, sample } = found;
  const nowMs = io.effects.now().wallMs;
  output.answer({ group, sample }, () => {
    const { changed } = group;
    output.fields([
      ['group', group.id],
      [
        'state',
        `${group.state}${changed === undefined ? '' : `, by ${changed.actor} ${formatAge(changed.at.getTime(), nowMs)}${changed.reason === undefined ? '' : `: ${changed.reason}`}`}`,
      ],
      ['handler', `${group.service}/${group.handler}`],
      ['type', group.type],
      ['error', errorOf(group)],
      ['frames', group.frames.join('\n')],
      ['wait', `${counted(group.pending, 'dead letter')} of ${group.total} in all`],
      [
        'seen',
        `first ${formatAge(group.firstSeenAt.getTime(), nowMs)}, last ${formatAge(group.lastSeenAt.getTime(), nowMs)}`,
      ],
      ['last 24 h', trendOf(group)],
      ['newest', sample?.id],
    ]);
    if (group.pending > 0) output.line(`\nNext: holdfast bulk plan replay --group ${group.id} --canary 1`);
  });
  return EXIT.ok;
}
