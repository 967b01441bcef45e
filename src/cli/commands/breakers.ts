import type { BreakerChanged, BreakerRecord } from '../../operator/breaker-record.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { formatAge } from '../duration.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { PAGE_OPTIONS, pageOf, sayMore, subVerb } from '../page-options.ts';

const VERBS = ['open', 'close'] as const;

/** `holdfast breakers`: what stands between handlers and what they depend on. */
export const breakers: Command = {
  name: 'breakers',
  summary: 'List the breakers of dependencies, those that are not closed first; open or close one.',
  args: { usage: '[open|close <name>]', min: 0, max: 2 },
  verbs: VERBS,
  options: { ...PAGE_OPTIONS, reason: { value: '<text>', summary: 'why, for the audit' } },
  details: [
    'While a breaker is open nothing is started and no attempt is spent; a message now and then tries whether the',
    'dependency answers again. Opened by hand it stays open until it is closed by hand.',
  ],
  examples: [
    'holdfast breakers',
    `holdfast breakers open bank --reason 'they are down until 14:00'`,
    'holdfast breakers close billing/bank',
  ],
  run: async (invocation) => {
    const { args, options, output } = invocation;
    const [word, name] = args;
    if (word !== undefined) return change(invocation, subVerb('breakers', VERBS, word), name);
    const page = await (await openOperator(invocation)).breakers(pageOf(options));
    output.answer(page, () => {
      if (page.items.length === 0) output.line('No breakers yet. One appears when a handler runs.');
      else breakerTable(invocation, page.items);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};

/** Breakers as a table. */
export function breakerTable({ io, output }: Invocation, items: readonly BreakerRecord[]): void {
  const { paint } = output;
  const nowMs = io.effects.now().wallMs;
  const paints = { open: paint.red, probing: paint.yellow, closed: paint.green };
  output.table(items, [
    { title: 'BREAKER', value: (one) => `${one.service}/${one.name}`, shrinkTo: 12 },
    { title: 'STATE', value: (one) => one.state, paint: (text, one) => paints[one.state](text) },
    { title: 'SINCE', value: (one) => one.since && formatAge(one.since.getTime(), nowMs) },
    { title: 'NEXT TRY', value: (one) => one.probeAt && formatAge(one.probeAt.getTime(), nowMs) },
    { title: 'OPENS AFTER', value: (one) => one.failures, align: 'right' },
    { title: 'WAITING', value: (one) => one.waiting, align: 'right' },
    { title: 'HANDLERS', value: (one) => one.handlers.join(', '), shrinkTo: 10 },
    { title: 'BY', value: (one) => one.changed?.actor, shrinkTo: 8 },
    { title: 'ERROR', value: ({ error }) => error && `${error.code ?? error.name}: ${error.message}`, shrinkTo: 12 },
  ]);
}

async function change(invocation: Invocation, verb: (typeof VERBS)[number], name: string | undefined): Promise<number> {
  const { output } = invocation;
  if (name === undefined) throw usageError(`name the breaker: holdfast breakers ${verb} <name>`);
  const operator = await openOperator(invocation);
  if (
    verb === 'open' &&
    !(await confirm(invocation, `Hold ${name} open, so that its handlers stand still?`, 'go-on'))
  ) {
    throw new CliError('nothing was changed');
  }
  const by = byWhom(invocation);
  const outcome = verb === 'open' ? await operator.openBreaker(name, by) : await operator.closeBreaker(name, by);
  if (outcome.kind === 'unknown-breaker' || outcome.kind === 'ambiguous-breaker') throw new CliError(refused(outcome));
  output.answer(outcome, () => {
    const now = `${outcome.breaker.service}/${outcome.breaker.name} is ${outcome.breaker.state}`;
    output.line(
      outcome.kind === 'unchanged'
        ? `${now} already.`
        : `${now}.${verb === 'open' ? ` holdfast breakers close ${name} goes on.` : ''}`,
    );
  });
  return EXIT.ok;
}

function refused(outcome: Exclude<BreakerChanged, { kind: 'changed' | 'unchanged' }>): string {
  return outcome.kind === 'unknown-breaker'
    ? `no breaker is named ${JSON.stringify(outcome.name)}; ${outcome.known.length === 0 ? 'there is none yet' : `known are ${outcome.known.join(', ')}`}`
    : `two services have a breaker named ${JSON.stringify(outcome.name)}; write ${outcome.write.join(' or ')}`;
}
