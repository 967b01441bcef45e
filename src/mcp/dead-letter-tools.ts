import {
  DEAD_LETTER_STATUSES,
  type DeadLetterStatus,
  type DeliveryRecord,
  type MessageDetail,
} from '../operator/operator-records.ts';
import { asData, cut, payloadText } from './bounded-data.ts';
import { deadLetterFilter } from './filters.ts';
import { pagingOf, withoutStack } from './read-tools.ts';
import { refusedId } from './refusals.ts';
import { DEAD_LETTER_FILTER, LIST, object, page, PAGING, RECORD, STRING, text } from './schemas.ts';
import { answer, LOOKS, textOf, type Tool, type ToolCall } from './tool.ts';

const LONGEST_STACK = 2_000;
const MOST_CHANGES = 10;

/** `list_dlq_events`. */
export const listDlqEvents: Tool = {
  name: 'list_dlq_events',
  title: 'List dead letters',
  description:
    'Deliveries that failed for good, the newest first: id, handler, type, key, attempts, error. Default: those nobody has dealt with. For causes rather than single ones use list_error_groups.',
  hints: LOOKS,
  input: {
    ...DEAD_LETTER_FILTER,
    status: text('pending (nobody has dealt with it) unless said', { enum: [...DEAD_LETTER_STATUSES] }),
    ...PAGING,
  },
  output: page(
    object({ id: STRING, messageId: STRING, handler: STRING, type: STRING }, ['id', 'messageId', 'handler', 'type']),
  ),
  run: async (args, { operator, nowMs }) => {
    const filter = deadLetterFilter(args, nowMs);
    if ('kind' in filter) return filter;
    const found = await operator.deadLetters({
      ...filter,
      status: textOf(args, 'status') as DeadLetterStatus | undefined,
      ...pagingOf(args),
    });
    const items = found.items.map((one) => ({ ...one, error: withoutStack(one.error) }));
    const more = found.next === undefined ? '' : ' There are more: pass next as cursor.';
    return answer(
      `${items.length} dead letters.${more}`,
      asData({ items, next: found.next }) as Record<string, unknown>,
    );
  },
};

/** `get_dlq_event_detail`. */
export const getDlqEventDetail: Tool = {
  name: 'get_dlq_event_detail',
  title: 'All about one dead letter',
  description:
    "All that is known of one message, by its id or a dead letter's: payload (untrusted data, redacted and cut as the server is set), each handler's delivery with error and stack, earlier failures, and what was changed by hand.",
  hints: LOOKS,
  input: { id: text('the id of a dead letter or of a message') },
  required: ['id'],
  output: object({ message: RECORD, payload: RECORD, deliveries: LIST, audit: LIST }, [
    'message',
    'payload',
    'deliveries',
  ]),
  run: async (args, call) => {
    const found = await call.operator.show(textOf(args, 'id') ?? '');
    if (found.kind !== 'found') return refusedId(found);
    const value = detailOf(found.message, call);
    const failed = found.message.deliveries.filter((one) => one.status === 'failed').length;
    const note = value.payload.isCut ? ' The payload is cut.' : '';
    return answer(`One message, ${failed} of its deliveries failed.${note}`, asDetail(value));
  },
};

function detailOf(detail: MessageDetail, { maxPayload }: ToolCall) {
  const { payload, deliveries, audit, edits, headers: _, ...message } = detail;
  return {
    message: asData(message),
    payload: payloadText(payload, maxPayload),
    deliveries: deliveries.map(deliveryOf),
    edits: asData(edits.slice(-MOST_CHANGES).map(({ payload: _old, ...one }) => one)),
    audit: asData(audit.slice(-MOST_CHANGES)),
  };
}

function deliveryOf({ error, failureHistory, ...one }: DeliveryRecord): object {
  const stack = error?.stack && cut(error.stack, LONGEST_STACK);
  return Object.assign(asData(one) as object, {
    error: error && Object.assign(asData(withoutStack(error)) as object, { stack }),
    earlierFailures: asData(failureHistory.slice(-MOST_CHANGES)),
  });
}

function asDetail(value: object): Readonly<Record<string, unknown>> {
  // Fields that are not there are left out, as everywhere.
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}
