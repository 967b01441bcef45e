import { DEAD_LETTER_STATUSES, type DeadLetter, type DeadLetterStatus } from '../../operator/operator-records.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { FILTER_OPTIONS, givenFilters, readFilter } from '../dead-letter-options.ts';
import { formatAge } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { sayMore } from '../page-options.ts';

const LIMIT = 50;

/** `holdfast dlq:list`: dead letters as a table. */
export const dlqList: Command = {
  name: 'dlq:list',
  summary: 'List dead letters, the newest first.',
  options: {
    ...FILTER_OPTIONS,
    status: { value: '<status>', summary: DEAD_LETTER_STATUSES.join(', '), default: 'pending' },
    limit: { value: '<n>', summary: 'how many, up to 1000', default: String(LIMIT) },
    cursor: { value: '<text>', summary: 'go on from where the last list ended' },
  },
  examples: ['holdfast dlq:list --service expenses --since 2h', 'holdfast dlq:list --status discarded --json'],
  run: async (invocation) => {
    const { options, output } = invocation;
    const operator = await openOperator(invocation);
    const page = await operator.deadLetters({
      ...readFilter(invocation),
      status: statusOf(options.text('status')),
      limit: options.count('limit') ?? LIMIT,
      cursor: options.text('cursor'),
    });
    output.answer(page, () => {
      if (page.items.length === 0) {
        output.line(noDeadLetters(invocation));
      } else deadLetterTable(invocation, page.items);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};

/** What is said where there is none. */
export function noDeadLetters(invocation: Pick<Invocation, 'options'>): string {
  const filters = [...givenFilters(invocation), ...(invocation.options.has('status') ? ['status'] : [])];
  if (filters.length === 0) return 'No dead letters. Nothing failed.';
  return `No dead letters fit ${filters.map((name) => `--${name}`).join(', ')}. holdfast dlq:list shows all of them.`;
}

/** Dead letters as a table. */
function deadLetterTable({ io, output }: Pick<Invocation, 'io' | 'output'>, items: readonly DeadLetter[]): void {
  const nowMs = io.effects.now().wallMs;
  output.table(items, [
    { title: 'ID', value: (one) => one.id },
    { title: 'HANDLER', value: (one) => `${one.service}/${one.handler}`, shrinkTo: 12 },
    { title: 'TYPE', value: (one) => one.type, shrinkTo: 8 },
    { title: 'KEY', value: (one) => one.key, shrinkTo: 4 },
    { title: 'TRIES', value: (one) => one.attempts, align: 'right' },
    { title: 'SINCE', value: (one) => formatAge(one.updatedAt.getTime(), nowMs) },
    { title: 'ERROR', value: errorText, shrinkTo: 16, paint: (text) => output.paint.red(text) },
  ]);
}

/** The last error in one line. */
export function errorText({ error }: Pick<DeadLetter, 'error'>): string | undefined {
  return error && `${error.code === undefined ? error.name : error.code}: ${error.message}`;
}

function statusOf(text: string | undefined): DeadLetterStatus | undefined {
  if (text === undefined) return undefined;
  const status = DEAD_LETTER_STATUSES.find((one) => one === text);
  if (status === undefined) {
    throw usageError(`--status is ${JSON.stringify(text)}; write ${DEAD_LETTER_STATUSES.join(', ')}`);
  }
  return status;
}
