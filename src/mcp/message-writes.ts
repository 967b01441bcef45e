import { isBadId, parseDeliveryId } from '../operator/delivery-id.ts';
import type { DeliveryRecord, HandlerRecord, MessageDetail } from '../operator/operator-records.ts';
import { cut } from './bounded-data.ts';
import { type Effect, guardedWrite, type Outcome } from './guarded-write.ts';
import { refusedId } from './refusals.ts';
import { text, WRITE, WRITTEN } from './schemas.ts';
import { refusal, textOf, type Tool, type ToolCall, type ToolRefusal } from './tool.ts';

const ID = text(
  "a dead letter's id (<message id>:<number>) for that delivery alone, or a message's id for all that failed of it",
);
const HOW =
  'Guarded: called without preview_token it changes nothing and answers the exact effect with a preview_token; called again with that token and a reason it does exactly that, unless anything of it has changed meanwhile.';

type Verb = 'replay' | 'discard';

const DONE = { replay: 'replayed', discard: 'discarded' } as const;

/** The tool that does one thing to what failed of a message. */
function onFailed(
  verb: Verb,
  {
    title,
    description,
    isDestructive,
  }: { readonly title: string; readonly description: string; readonly isDestructive: boolean },
): Tool {
  const name = `${verb}_dlq_event`;
  return {
    name,
    title,
    description,
    hints: { readOnlyHint: false, destructiveHint: isDestructive, idempotentHint: true, openWorldHint: false },
    input: { id: ID, ...WRITE },
    required: ['id'],
    output: WRITTEN,
    run: async (args, call) => {
      const id = textOf(args, 'id') ?? '';
      return guardedWrite(
        {
          tool: name,
          commandLine: `holdfast dlq:${verb} --id ${id}${verb === 'discard' ? " --reason '…'" : ''}`,
          see: () => seeFailed(call, id, verb),
          apply: async ({ items }, reason) => {
            const outcomes: Outcome[] = [];
            // One by one, by what was previewed: a delivery that has failed since then is not swept along.
            for (const item of items) {
              const delivery = String(item['id']);
              const { kind } = await call.operator[verb](delivery, { actor: call.actor, reason });
              outcomes.push({ id: delivery, kind, isRefused: kind !== DONE[verb] });
            }
            return outcomes;
          },
        },
        args,
        call,
      );
    },
  };
}

/** `replay_dlq_event`. */
export const replayDlqEvent: Tool = onFailed('replay', {
  title: 'Replay a dead letter',
  description: `Runs what failed of one message again: same id, same idempotency key, so what was handled is not handled twice. Mend the cause first. ${HOW} For many at once use plan_bulk.`,
  isDestructive: false,
});

/** `discard_dlq_event`. */
export const discardDlqEvent: Tool = onFailed('discard', {
  title: 'Give a dead letter up',
  description: `Gives up what failed of one message: it will never be handled, and later messages of its key go on. It stays in the history with who and why. ${HOW}`,
  isDestructive: true,
});

async function seeFailed(call: ToolCall, id: string, verb: Verb): Promise<Effect | ToolRefusal> {
  const parsed = parseDeliveryId(id);
  if (isBadId(parsed)) return refusedId(parsed);
  const found = await call.operator.show(id);
  if (found.kind !== 'found') return refusedId(found);
  const { message } = found;
  const meant = message.deliveries.filter(
    (one) => parsed.handler === undefined || one.id === `${parsed.messageId}:${parsed.handler}`,
  );
  const failed = meant.filter((one) => one.status === 'failed');
  if (failed.length === 0) {
    const status = meant[0]?.status ?? 'without a handler';
    return refusal(`it has not failed, it is ${status}`, 'explain_message tells why it is not done');
  }
  const handlers = verb === 'replay' ? await call.operator.handlers() : [];
  return {
    verb,
    items: failed.map((one) => shownItem(one, message, verb, handlers)),
    happens:
      verb === 'replay'
        ? 'Each delivery listed runs again from its first attempt, with the same id and idempotency key. Other handlers of the message are not touched.'
        : 'Each delivery listed is given up and moves to the history. Later messages of its key go on.',
    state: failed.map(({ id: delivery, status, attempts, cycle, rerun, version, failedAt }) => [
      delivery,
      status,
      attempts,
      cycle,
      rerun,
      version,
      failedAt?.getTime(),
    ]),
  };
}

function shownItem(
  one: DeliveryRecord,
  message: MessageDetail,
  verb: string,
  handlers: readonly HandlerRecord[],
): Readonly<Record<string, unknown>> {
  const { id, service, handler, attempts, cycle, error, holds } = one;
  return {
    id,
    service,
    handler,
    type: cut(message.type, 200),
    attempts,
    replays: cycle,
    error: error && { code: error.code, name: error.name, message: cut(error.message, 300) },
    holdsKey: holds,
    ...(verb === 'replay' && {
      run: whenRun(handlers.find((of) => of.service === service && of.handler === handler)),
    }),
  };
}

/** Whether it would run at once. */
function whenRun(handler: HandlerRecord | undefined): string {
  if (handler === undefined) return 'waits: its handler is not registered';
  if (handler.workers.length === 0) return 'waits: no live worker serves its handler';
  return handler.pausedAt === undefined ? 'runs at once' : 'waits: its handler is paused';
}
