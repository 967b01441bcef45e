import { ERROR_GROUP_STATES, type ErrorGroupState } from '../operator/error-group.ts';
import { parseMessageQuery, QUERY_QUALIFIERS } from '../operator/message-query.ts';
import { OVERVIEW_RANGES, type OverviewRange } from '../operator/overview.ts';
import type { DeliveryError } from '../relay/relay-store.ts';
import { asData } from './bounded-data.ts';
import { refusedId } from './refusals.ts';
import { LIST, object, page, PAGING, RECORD, STRING, text, whole } from './schemas.ts';
import { answer, LOOKS, numberOf, refusal, textOf, type Tool, type ToolArguments } from './tool.ts';

/** How many a list has unless it is said. */
const LIMIT = 20;

export function pagingOf(args: ToolArguments): { readonly limit: number; readonly cursor: string | undefined } {
  return { limit: numberOf(args, 'limit') ?? LIMIT, cursor: textOf(args, 'cursor') };
}

/** Lists have no room for stacks. */
export function withoutStack(error: DeliveryError | undefined): unknown {
  return error && { ...error, stack: undefined };
}

/** `get_overview`. */
export const getOverview: Tool = {
  name: 'get_overview',
  title: 'Is anything lost or late?',
  description:
    'Start here. One sentence about the whole system, what needs somebody (the worst first), each handler with lag, rate and error share, and open breakers.',
  hints: LOOKS,
  input: { range: text('how far back the sums go: hour, day or week', { enum: [...OVERVIEW_RANGES] }) },
  output: object({ verdict: STRING, attention: LIST, sums: RECORD, handlers: LIST, breakers: LIST }, [
    'verdict',
    'attention',
    'handlers',
  ]),
  run: async (args, { operator }) => {
    const overview = await operator.overview({ range: (textOf(args, 'range') ?? 'hour') as OverviewRange });
    const { at, verdict, attention, range, points, handlers, breakers } = overview;
    const sum = (field: 'sent' | 'done' | 'retried' | 'dead' | 'suppressed' | 'refused'): number =>
      points.reduce((total, point) => total + point[field], 0);
    const sums = {
      range,
      sent: sum('sent'),
      done: sum('done'),
      retried: sum('retried'),
      dead: sum('dead'),
      suppressed: sum('suppressed'),
      refused: sum('refused'),
      pending: points.at(-1)?.pending,
      oldestMs: points.at(-1)?.oldestMs,
    };
    return answer(
      attention.length === 0 ? 'Nothing needs anybody.' : `${attention.length} things need somebody.`,
      asData({ at, verdict, attention, sums, handlers, breakers }) as Record<string, unknown>,
    );
  },
};

/** `list_error_groups`. */
export const listErrorGroups: Tool = {
  name: 'list_error_groups',
  title: 'Dead letters by cause',
  description:
    'Dead letters grouped by handler, type and fingerprint of the error, the last seen first, with how many wait and when it first and last happened. A group is replayed as a whole with plan_bulk { group }.',
  hints: LOOKS,
  input: {
    state: text('open (needs somebody), resolved or ignored', { enum: [...ERROR_GROUP_STATES] }),
    service: text('whose handler'),
    handler: text('a handler, or service/handler'),
    type: text('the type of the messages'),
    search: text("part of the error's name, code or message"),
    ...PAGING,
  },
  output: page(object({ id: STRING, handler: STRING, pending: { type: 'integer' } }, ['id', 'handler'])),
  run: async (args, { operator }) => {
    const found = await operator.groups({
      state: textOf(args, 'state') as ErrorGroupState | undefined,
      service: textOf(args, 'service'),
      handler: textOf(args, 'handler'),
      type: textOf(args, 'type'),
      search: textOf(args, 'search'),
      ...pagingOf(args),
    });
    return answer(`${found.items.length} error groups.`, asData(found) as Record<string, unknown>);
  },
};

/** `search_messages`. */
export const searchMessages: Tool = {
  name: 'search_messages',
  title: 'Search messages',
  description: `Messages of any state, the newest first, by a query such as "type:order.* status:failed payload.customer.id:42 since:2h". Qualifiers: ${QUERY_QUALIFIERS.map((one) => one.example).join(', ')}. All must fit; quotes around values with spaces.`,
  hints: LOOKS,
  input: { query: text('the query; without it the newest'), ...PAGING },
  output: page(object({ id: STRING, type: STRING, status: STRING }, ['id', 'type'])),
  run: async (args, { operator, nowMs }) => {
    const { filter, id, problems } = parseMessageQuery(textOf(args, 'query') ?? '', nowMs);
    const [problem] = problems;
    if (problem !== undefined) return refusal(`the query cannot be read: ${problem.problem}`, 'mend the query');
    if (id !== undefined) {
      const found = await operator.find(id);
      if (found.kind !== 'found') return refusedId(found);
      return answer('One message.', { items: [asData(found.message)] });
    }
    const found = await operator.messages({ ...filter, ...pagingOf(args) });
    const more = found.next === undefined ? '' : ' There may be more: pass next as cursor.';
    return answer(`${found.items.length} messages.${more}`, asData(found) as Record<string, unknown>);
  },
};

/** `explain_message`. */
export const explainMessage: Tool = {
  name: 'explain_message',
  title: 'Why is this message not done?',
  description:
    'For each handler of a message the one reason why it is not done, with the next step, and what is left of its retry plan. Takes the id of a message or of a dead letter.',
  hints: LOOKS,
  input: { id: text('the id of a message or of a dead letter') },
  required: ['id'],
  output: object({ deliveries: LIST }, ['deliveries']),
  run: async (args, { operator }) => {
    const id = textOf(args, 'id') ?? '';
    const why = await operator.why(id);
    if (why.kind !== 'why') return refusedId(why);
    const forecast = await operator.forecast(id);
    const plans = forecast.kind === 'forecast' ? forecast.deliveries : [];
    const deliveries = why.deliveries.map((one) => {
      const plan = plans.find((of) => of.id === one.id);
      const left = plan && { end: plan.end, attemptsLeft: plan.attempts.length, next: plan.attempts.slice(0, 5) };
      return Object.assign({}, one, { forecast: left });
    });
    return answer(`${deliveries.length} deliveries.`, { deliveries: asData(deliveries) });
  },
};

/** `trace`. */
export const trace: Tool = {
  name: 'trace',
  title: 'Trace one action',
  description:
    'Everything one action did, in the order of time, over all services: takes any id of it (request, idempotency key, event, dead letter, command, run, user).',
  hints: LOOKS,
  input: { id: text('any id of the action'), limit: whole('how many steps, 100 unless said', 1, 500) },
  required: ['id'],
  output: object({ id: STRING, entries: LIST, candidates: LIST }, []),
  run: async (args, { operator }) => {
    const traced = await operator.trace(textOf(args, 'id') ?? '', { limit: numberOf(args, 'limit') ?? 100 });
    switch (traced.kind) {
      case 'bad-id':
        return refusal(traced.problem, 'pass an id as it stands in a log or a list');
      case 'not-found':
        return refusal(
          'nothing is known by that id',
          'finished messages are kept for a time only; try another id of the action',
        );
      case 'ambiguous':
        return answer('Several events begin so; pass one of these ids.', asData(traced) as Record<string, unknown>);
      case 'trace':
        return answer(`${traced.entries.length} steps.`, asData(traced) as Record<string, unknown>);
      default:
        return traced satisfies never;
    }
  },
};

/** `list_keys`. */
export const listKeys: Tool = {
  name: 'list_keys',
  title: 'Keys that do not go on',
  description:
    'Keys whose later messages wait behind one that retries or has failed: which message holds each, why, and how many wait behind it.',
  hints: LOOKS,
  input: { service: text('whose handler'), handler: text('a handler, or service/handler'), ...PAGING },
  output: page(object({ key: STRING, handler: STRING, behind: { type: 'integer' } }, ['key', 'handler'])),
  run: async (args, { operator }) => {
    const found = await operator.heldKeys({
      service: textOf(args, 'service'),
      handler: textOf(args, 'handler'),
      ...pagingOf(args),
    });
    const items = found.items.map((one) =>
      Object.assign({}, one, { holder: { ...one.holder, error: withoutStack(one.holder.error) } }),
    );
    return answer(`${items.length} keys are held.`, asData({ items, next: found.next }) as Record<string, unknown>);
  },
};

/** `list_handlers`. */
export const listHandlers: Tool = {
  name: 'list_handlers',
  title: 'Who handles what',
  description:
    'All handlers: the types they take, live workers, whether they are paused, and their limit of concurrency.',
  hints: LOOKS,
  input: { service: text('only handlers of this service') },
  output: object({ handlers: LIST }, ['handlers']),
  run: async (args, { operator }) => {
    const service = textOf(args, 'service');
    const all = await operator.handlers();
    const handlers = service === undefined ? all : all.filter((one) => one.service === service);
    return answer(`${handlers.length} handlers.`, { handlers: asData(handlers) });
  },
};

/** `list_breakers`. */
export const listBreakers: Tool = {
  name: 'list_breakers',
  title: 'Breakers of dependencies',
  description:
    'What stands between handlers and something they depend on: open ones first, with the failure that opened them, when the next message is tried, and how many wait.',
  hints: LOOKS,
  input: PAGING,
  output: page(object({ name: STRING, state: STRING }, ['name', 'state'])),
  run: async (args, { operator }) => {
    const found = await operator.breakers(pagingOf(args));
    const open = found.items.filter((one) => one.state !== 'closed').length;
    return answer(`${found.items.length} breakers, ${open} not closed.`, asData(found) as Record<string, unknown>);
  },
};
