import { counted, errorLine } from '../parts/figures.ts';
import { duration } from '../parts/span-of-time.ts';
import type { MessageDetail } from './message-page.tsx';

type Delivery = MessageDetail['deliveries'][number];

/** One step of a message's life. */
export interface Step {
  readonly at: string;
  readonly state: string;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly stack?: string | undefined;
}

function nameOf({ service, handler }: Delivery): string {
  return handler === undefined ? 'no handler' : `${service ?? ''}/${handler}`;
}

function cycles(delivery: Delivery): readonly Step[] {
  return delivery.failureHistory.map((cycle) => ({
    at: cycle.failedAt,
    state: 'failed',
    title: `${nameOf(delivery)} failed for good after ${counted(cycle.attempts, 'attempt')}`,
    detail: cycle.error === null ? undefined : errorLine(cycle.error),
  }));
}

function present(delivery: Delivery): readonly Step[] {
  const { attempts, firstFailedAt, failedAt, error, running, failureHistory, cycle } = delivery;
  const isTold = failureHistory.some((one) => one.cycle === cycle);
  const name = nameOf(delivery);
  const first =
    firstFailedAt !== undefined && !isTold && (attempts > 1 || failedAt === undefined)
      ? [
          {
            at: firstFailedAt,
            state: 'retrying',
            title: `${name} failed, attempt 1`,
            detail: attempts > 1 ? `${attempts} attempts so far` : error && errorLine(error),
          },
        ]
      : [];
  const dead =
    failedAt !== undefined && !isTold
      ? [
          {
            at: failedAt,
            state: 'failed',
            title: `${name} failed for good after ${counted(attempts, 'attempt')}`,
            detail: error && errorLine(error),
            stack: error?.stack,
          },
        ]
      : [];
  const runs =
    running === undefined
      ? []
      : [
          {
            at: running.startedAt,
            state: 'in_flight',
            title: `${name} runs attempt ${running.attempt}`,
            detail: `on ${running.worker}`,
          },
        ];
  return [...first, ...dead, ...runs];
}

const ENDS: Readonly<Record<string, string>> = {
  delivered: 'is done',
  discarded: 'was discarded',
  cancelled: 'was cancelled',
};

function end(delivery: Delivery): readonly Step[] {
  const { status, doneAt, durationMs, attempts, actor, reason } = delivery;
  const word = ENDS[status];
  if (word === undefined || doneAt === undefined) return [];
  const by = actor === undefined ? undefined : `by ${actor}${reason === undefined ? '' : `: ${reason}`}`;
  const took = durationMs === undefined ? undefined : `took ${duration(durationMs)}`;
  const tries = attempts > 1 ? `attempt ${attempts}` : undefined;
  return [
    {
      at: doneAt,
      state: status,
      title: `${nameOf(delivery)} ${word}`,
      detail: [took, tries, by].filter(Boolean).join(', ') || undefined,
    },
  ];
}

function byHand({ audit }: MessageDetail): readonly Step[] {
  return audit
    .filter(({ verb }) => verb !== 'discard' && verb !== 'cancel')
    .map(({ at, actor, verb, reason, handler }) => ({
      at,
      state: 'replaying',
      title: `${actor}: ${verb}${handler === undefined ? '' : ` of ${handler}`}`,
      detail: reason,
    }));
}

/** The message's life so far, in the order of time. */
export function timelineOf(message: MessageDetail): readonly Step[] {
  const { createdAt, source, deliveries, correlationId } = message;
  const detail = correlationId === undefined ? undefined : `in the action ${correlationId}`;
  const steps: readonly Step[] = [
    { at: createdAt, state: 'ready', title: `Sent by ${source}`, detail },
    ...deliveries.flatMap((delivery) => [cycles(delivery), present(delivery), end(delivery)].flat()),
    ...byHand(message),
  ];
  return steps.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
