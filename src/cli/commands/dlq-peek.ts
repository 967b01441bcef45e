import { EXIT } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { FILTER_OPTIONS, readFilter } from '../dead-letter-options.ts';
import { formatAge } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { errorText, noDeadLetters } from './dlq-list.ts';

const LIMIT = 5;

/** `holdfast dlq:peek`: the newest dead letters, each with its error and what can be done. */
export const dlqPeek: Command = {
  name: 'dlq:peek',
  summary: 'Look at the newest dead letters, with their errors in full.',
  options: { ...FILTER_OPTIONS, limit: { value: '<n>', summary: 'how many', default: String(LIMIT) } },
  examples: ['holdfast dlq:peek --service expenses'],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const operator = await openOperator(invocation);
    const page = await operator.deadLetters({ ...readFilter(invocation), limit: options.count('limit') ?? LIMIT });
    output.answer(page, () => {
      if (page.items.length === 0) output.line(noDeadLetters(invocation));
      const nowMs = io.effects.now().wallMs;
      for (const one of page.items) {
        output.fields([
          ['id', one.id],
          ['handler', `${one.service}/${one.handler}`],
          ['message', one.key === undefined ? one.type : `${one.type}, key ${one.key}`],
          ['failed', `${formatAge(one.updatedAt.getTime(), nowMs)}, attempts: ${one.attempts}, replays: ${one.cycle}`],
          ['error', errorText(one)],
          ['blocks', one.holds ? 'later messages of its key wait behind it' : undefined],
        ]);
        output.line();
      }
      if (page.items[0] !== undefined) {
        output.line(
          `holdfast dlq:show ${page.items[0].id} tells all of it; dlq:replay and dlq:discard take the id too.`,
        );
      }
      if (page.next !== undefined) output.line('There are more: holdfast dlq:list.');
    });
    return EXIT.ok;
  },
};
