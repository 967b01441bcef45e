import type { ListedMessage, MessageFilter, TabCount } from '../../operator/message-list.ts';
import { QUERY_QUALIFIERS } from '../../operator/message-query.ts';
import type { Operator } from '../../operator/operator.ts';
import { terminalSafe } from '../../retry-notice/terminal-text.ts';
import { CliError, EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatAge } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { PAGE_OPTIONS, pageOf, sayMore } from '../page-options.ts';
import { paintState } from '../paint.ts';
import { queryOf } from '../query-words.ts';
import { describeRefusal } from '../refusal.ts';

/** A call reads a bounded part of the history; so many are made before the person is asked to go on. */
const MOST_CALLS = 20;

/** `holdfast messages [query]`: looks through messages of every state. */
export const messages: Command = {
  name: 'messages',
  summary: 'Search messages of every state, the newest first.',
  args: { usage: '[qualifier:value …]', min: 0, max: 20 },
  options: { ...PAGE_OPTIONS, tabs: { summary: 'how many there are of each status' } },
  details: [
    'All qualifiers must fit:',
    ...QUERY_QUALIFIERS.map((one) => `  ${one.example.padEnd(40)} ${one.summary}`),
    'In a payload "42" in quotes is text and 42 is a number. An id alone shows that message.',
  ],
  examples: [
    'holdfast messages status:failed since:2h',
    `holdfast messages 'type:order.*' payload.customer.id:42 error:ECONN`,
    'holdfast messages --tabs',
  ],
  run: async (invocation) => {
    const { args, io, options, output } = invocation;
    const { filter, id } = queryOf(args, io);
    const operator = await openOperator(invocation);
    if (options.flag('tabs')) {
      const tabs = await operator.messageTabs();
      output.answer({ tabs }, () => showTabs(invocation, tabs));
      return EXIT.ok;
    }
    if (id !== undefined) {
      const found = await operator.find(id);
      if (found.kind !== 'found') throw new CliError(describeRefusal(found, id));
      const { message } = found;
      output.answer({ items: [message], next: undefined, searchedBackTo: undefined, note: undefined }, () => {
        output.line(`${message.id}  ${terminalSafe(message.type)}  ${paintState(output.paint, message.status)}`);
        output.line(`holdfast dlq:show ${message.id} tells all of it.`);
      });
      return EXIT.ok;
    }
    const page = await collect(operator, filter, pageOf(options));
    output.answer(page, () => {
      if (page.items.length === 0) output.line(nothing(args, page.next));
      else show(invocation, page.items);
      if (page.searchedBackTo !== undefined && page.next !== undefined && page.items.length < pageOf(options).limit)
        output.line(`\nLooked back to ${page.searchedBackTo.toISOString()}.`);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};

interface Collected {
  readonly items: readonly ListedMessage[];
  readonly next: string | undefined;
  readonly searchedBackTo: Date | undefined;
  readonly note: string | undefined;
}

/** Goes further back while a page has room, within bounds. */
async function collect(
  operator: Operator,
  filter: MessageFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Collected> {
  const items: ListedMessage[] = [];
  let [next, searchedBackTo]: [string | undefined, Date | undefined] = [cursor, undefined];
  let note: string | undefined;
  for (let calls = 0; calls < MOST_CALLS; calls += 1) {
    const page = await operator.messages({ ...filter, limit: limit - items.length, ...(next && { cursor: next }) });
    items.push(...page.items);
    [next, searchedBackTo] = [page.next, page.searchedBackTo];
    note ??= page.note;
    if (next === undefined || items.length >= limit) break;
  }
  return { items, next, searchedBackTo, note };
}

function nothing(args: readonly string[], next: string | undefined): string {
  if (next !== undefined) return 'No message fits so far.';
  return args.length === 0
    ? 'No messages yet. hf.send() in a transaction makes one.'
    : `No message fits ${args.join(' ')}. holdfast messages shows the newest.`;
}

function show({ io, output }: Invocation, items: readonly ListedMessage[]): void {
  const nowMs = io.effects.now().wallMs;
  output.table(items, [
    { title: 'ID', value: (one) => one.id },
    { title: 'TYPE', value: (one) => one.type, shrinkTo: 8 },
    { title: 'KEY', value: (one) => one.key, shrinkTo: 4 },
    { title: 'STATUS', value: (one) => one.tab, paint: (text, one) => paintState(output.paint, one.tab, text) },
    { title: 'TRIES', value: (one) => one.attempts, align: 'right' },
    { title: 'SENT', value: (one) => formatAge(one.createdAt.getTime(), nowMs) },
    {
      title: 'HANDLERS',
      value: (one) => one.deliveries.map(({ handler, status }) => `${handler ?? 'none'} ${status}`).join(', '),
      shrinkTo: 12,
    },
    { title: 'ERROR', value: (one) => one.lastError, shrinkTo: 12, paint: (text) => output.paint.red(text) },
  ]);
}

function showTabs({ output }: Invocation, tabs: readonly TabCount[]): void {
  const marks = { exact: '', 'at-least': ' or more', estimate: ', estimated' } as const;
  output.table(tabs, [
    { title: 'STATUS', value: (one) => one.tab, paint: (text, one) => paintState(output.paint, one.tab, text) },
    { title: 'MESSAGES', value: (one) => `${one.count.toLocaleString('en-US')}${marks[one.precision]}` },
  ]);
}
