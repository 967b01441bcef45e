import { type Bulk, type BulkForecast, BULK_VERBS } from '../operator/bulk.ts';
import { asData } from './bounded-data.ts';
import { deadLetterFilter } from './filters.ts';
import { readOnly } from './guarded-write.ts';
import { withoutStack } from './read-tools.ts';
import { DEAD_LETTER_FILTER, LIST, object, RECORD, text, whole } from './schemas.ts';
import { answer, LOOKS, numberOf, refusal, textOf, type Tool, type ToolCall, type ToolRefusal } from './tool.ts';

/** `plan_bulk`. */
export const planBulk: Tool = {
  name: 'plan_bulk',
  title: 'Plan a replay or discard of many dead letters, or a republish',
  description:
    'Freezes which dead letters fit now (an error group, a handler, a type, a search …) and answers how many, a sample, and what a replay would meet at each handler. With verb republish, handler (to-<transport>) and since must be given: it selects messages that were published to that broker since then, to publish them again after the broker lost them. Nothing is done yet: start_bulk with the id it answers, within an hour, does exactly this selection. Prefer a canary of 1 to 5.',
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: {
    verb: text('replay, discard, or republish: published messages go to a broker again that lost them', {
      enum: [...BULK_VERBS],
    }),
    ...DEAD_LETTER_FILTER,
    limit: whole('at most so many, the oldest failure first; bounded by the server', 1, 1_000_000),
    canary: whole('of a replay: so many first, the rest only if all of them succeed', 0, 1_000),
    per_second: { type: 'number', description: 'at most so many a second', minimum: 0.1, maximum: 10_000 },
  },
  required: ['verb'],
  output: object(
    { bulk: RECORD, sample: LIST, forecast: LIST, completeSince: text('the history is whole since then') },
    ['bulk', 'sample', 'forecast'],
  ),
  run: async (args, call) => {
    const { maxItems } = call.guard.limits;
    const verb = BULK_VERBS.find((one) => one === args['verb']) ?? 'replay';
    const filter = deadLetterFilter(args, call.nowMs);
    if ('kind' in filter) return filter;
    if (Object.keys(filter).length === 0) {
      return refusal(
        'it names nothing: every dead letter would fit',
        'pass a group from list_error_groups, or a filter',
      );
    }
    if (call.isReadOnly) return readOnly(`holdfast bulk plan ${verb} …`);
    const limit = numberOf(args, 'limit') ?? maxItems;
    if (limit > maxItems) {
      return refusal(`this server allows agents ${maxItems} a call`, `pass a limit of at most ${maxItems}`);
    }
    // A plan changes no message, but writes a row for each: whoever plans without end would fill the database.
    const problem = call.guard.overLimit();
    if (problem !== undefined) return problem;
    call.guard.countWrite();
    const planned = await call.operator.planBulk(
      { verb, filter, limit, canary: numberOf(args, 'canary'), perSecond: numberOf(args, 'per_second') },
      { actor: call.actor },
    );
    const { bulk, sample, forecast, completeSince } = planned;
    const next =
      bulk.total === 0
        ? 'Nothing fits; nothing needs to be started.'
        : `If that is what you want, call start_bulk with this bulk id and a reason.${bulk.isCut ? ` More would fit: the limit is ${limit}.` : ''}`;
    return answer(`Planned: ${verb} ${bulk.total}. Nothing was changed. ${next} ${warnings(forecast)}`.trim(), {
      bulk: asData(bulk),
      sample: asData(sample.map((one) => Object.assign({}, one, { error: withoutStack(one.error) }))),
      forecast: asData(forecast),
      ...(completeSince && { completeSince: completeSince.toISOString() }),
    });
  },
};

/** Ours alone: counts, and what stands in the way. */
function warnings(forecast: readonly BulkForecast[]): string {
  const idle = forecast.filter((one) => one.workers === 0).length;
  const paused = forecast.filter((one) => one.isPaused).length;
  const open = forecast.filter((one) => one.isBreakerOpen).length;
  return [
    idle > 0 ? `${idle} of its handlers have no live worker: nothing of them would run.` : '',
    paused > 0 ? `${paused} of its handlers are paused.` : '',
    open > 0 ? `${open} of its handlers have an open breaker: they wait until what they need answers again.` : '',
  ]
    .filter((one) => one !== '')
    .join(' ');
}

const BULK = object({ bulk: RECORD }, ['bulk']);

/** `start_bulk`. */
export const startBulk: Tool = {
  name: 'start_bulk',
  title: 'Start a planned bulk operation',
  description:
    'Begins a bulk operation that plan_bulk planned for you: exactly the frozen selection, each item once. The planned id is the token: it works once. Needs a reason. get_bulk shows how it goes.',
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: { bulk_id: text('from plan_bulk'), reason: text('why, for the audit; must be given') },
  required: ['bulk_id'],
  output: BULK,
  run: async (args, call) => {
    const id = textOf(args, 'bulk_id') ?? '';
    const reason = textOf(args, 'reason');
    if (call.isReadOnly) return readOnly(`holdfast bulk start ${told(id)} --reason '…'`);
    if (reason === undefined) return refusal('a write needs a reason: it stands in the audit', 'pass reason');
    const planned = await ownBulk(call, id);
    if ('kind' in planned) return planned;
    const { maxItems } = call.guard.limits;
    if (planned.total > maxItems) {
      return refusal(`it has ${planned.total} items, and this server allows agents ${maxItems}`, 'plan fewer');
    }
    const problem = call.guard.overLimit();
    if (problem !== undefined) return problem;
    call.guard.countWrite();
    return changed(await call.operator.startBulk(id, { actor: call.actor, reason }), 'Started.');
  },
};

/** `pause_bulk`. */
export const pauseBulk: Tool = {
  name: 'pause_bulk',
  title: 'Pause a bulk operation',
  description:
    'Stops a running bulk operation from beginning anything further; what has begun goes on. It only ever does less, so it needs no preview, but a reason. A person resumes or cancels it.',
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: { bulk_id: text('its id'), reason: text('why, for the audit; must be given') },
  required: ['bulk_id'],
  output: BULK,
  run: async (args, call) => {
    const id = textOf(args, 'bulk_id') ?? '';
    const reason = textOf(args, 'reason');
    if (call.isReadOnly) return readOnly(`holdfast bulk pause ${told(id)}`);
    if (reason === undefined) return refusal('a write needs a reason: it stands in the audit', 'pass reason');
    return changed(await call.operator.pauseBulk(id, { actor: call.actor, reason }), 'Paused.');
  },
};

/** `get_bulk`. */
export const getBulk: Tool = {
  name: 'get_bulk',
  title: 'How a bulk operation goes',
  description:
    'State and counts of a bulk operation, and the items that failed again with their errors. Without an id: the newest operations.',
  hints: LOOKS,
  input: { bulk_id: text('its id; without it the newest ten are listed') },
  output: object({ bulk: RECORD, failed: LIST, bulks: LIST }, []),
  run: async (args, call) => {
    const id = textOf(args, 'bulk_id');
    if (id === undefined) {
      const { items } = await call.operator.bulks({ limit: 10 });
      return answer(`${items.length} bulk operations, the newest first.`, { bulks: asData(items) });
    }
    const found = await call.operator.bulk(id);
    if (found.kind === 'not-found') return unknownBulk();
    const { bulk } = found;
    const failed = await call.operator.bulkItems(id, { outcome: 'failed', limit: 20 });
    const { total, counts } = bulk;
    const ended = total - counts.selected - counts.started;
    return answer(`It is ${bulk.state}: ${ended} of ${total} have ended, ${counts.failed} failed again.`, {
      bulk: asData(bulk),
      failed: asData(failed.items),
    });
  },
};

/** As it may stand in a command for a person: an agent that was led astray could write another command there. */
function told(id: string): string {
  return /^[0-9a-f-]{36}$/i.test(id) ? id : '<id>';
}

function unknownBulk(): ToolRefusal {
  return refusal('no bulk operation has that id', 'get_bulk without an id lists them, plan_bulk plans one');
}

/** The planned record is the token: it stands for the one who planned it. */
async function ownBulk(call: ToolCall, id: string): Promise<Bulk | ToolRefusal> {
  const found = await call.operator.bulk(id);
  if (found.kind === 'not-found') return unknownBulk();
  const { bulk } = found;
  if (bulk.actor !== call.actor) {
    return refusal('this operation was planned by somebody else', 'plan your own with plan_bulk');
  }
  if (bulk.state !== 'planned') {
    return refusal(`it was started already, it is ${bulk.state}`, 'get_bulk shows how it goes');
  }
  return bulk;
}

function changed(
  outcome: Awaited<ReturnType<ToolCall['operator']['startBulk']>>,
  summary: string,
): ReturnType<typeof answer> | ToolRefusal {
  switch (outcome.kind) {
    case 'not-found':
      return unknownBulk();
    case 'refused':
      return refusal(outcome.problem, 'get_bulk shows where it stands');
    case 'changed':
      return answer(`${summary} It stands in the audit; get_bulk shows how it goes.`, { bulk: asData(outcome.bulk) });
    default:
      return outcome satisfies never;
  }
}
