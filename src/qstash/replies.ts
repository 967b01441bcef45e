import type { DeadDelivery } from '../delivery/dead-deliveries.ts';
import type { DeliveryEvent } from '../delivery/delivery-log.ts';
import type { DeliveryRecord } from '../delivery/delivery-messages.ts';
import type { DeliveryRequest } from '../delivery/delivery-request.ts';
import type { FlowControlRecord, QueueRecord, UrlGroupRecord } from '../delivery/line-settings.ts';
import type { PublishOutcome } from '../delivery/publishing.ts';
import type { ScheduleRecord } from '../delivery/schedules.ts';
import { bodyInBase64, shownCallbacks, shownFlow, shownLabels } from './shown-parts.ts';

/** What is answered, before it is JSON: what is undefined is left out. */
export type Reply = Readonly<Record<string, unknown>>;

/** Clients disagree on the name. */
function callerOf({ callerIp }: Pick<DeliveryRequest, 'callerIp'>): Reply {
  return { callerIP: callerIp, callerIp };
}

/** A message. */
export function messageReply({ messageId, request, flow, createdAt, notBefore }: DeliveryRecord): Reply {
  return {
    messageId,
    url: request.url,
    topicName: request.group,
    endpointName: request.endpointName,
    method: request.method,
    header: request.headers,
    body: request.body,
    bodyBase64: request.bodyBase64,
    maxRetries: request.retries,
    retryDelayExpression: request.retryDelay,
    timeout: request.timeoutMs,
    notBefore: notBefore.getTime(),
    createdAt: createdAt.getTime(),
    ...shownCallbacks(request),
    queueName: request.queue,
    scheduleId: request.scheduleId,
    ...callerOf(request),
    ...shownFlow(request.flowKey, flow),
    ...shownLabels(request.labels),
  };
}

/** A message that failed for good, with the last answer. */
export function deadReply(dead: DeadDelivery): Reply {
  return {
    ...messageReply(dead),
    dlqId: dead.dlqId,
    responseStatus: dead.responseStatus,
    responseHeader: dead.responseHeaders,
    responseBody: dead.responseBody,
    responseBodyBase64: dead.responseBodyBase64,
    error: dead.error,
  };
}

/** A line of the log. */
export function eventReply(event: DeliveryEvent): Reply {
  const { request } = event;
  return {
    time: event.at.getTime(),
    messageId: event.messageId,
    state: event.state,
    error: event.error,
    nextDeliveryTime: event.nextAt?.getTime(),
    url: request.url,
    topicName: request.group,
    endpointName: request.endpointName,
    queueName: request.queue,
    scheduleId: request.scheduleId,
    flowControlKey: request.flowKey,
    header: request.headers,
    body: bodyInBase64(request),
    responseStatus: event.responseStatus,
    responseHeader: event.responseHeaders,
    responseHeaders: event.responseHeaders,
    responseBody: event.responseBody && Buffer.from(event.responseBody).toString('base64'),
    timeout: request.timeoutMs,
    method: request.method,
    ...shownCallbacks(request, 's'),
    maxRetries: request.retries,
    retryDelayExpression: request.retryDelay,
    retryDelayExpr: request.retryDelay,
    ...callerOf(request),
    ...shownLabels(request.labels),
  };
}

/** A queue. */
export function queueReply({ name, createdAt, updatedAt, parallelism, lag, isPaused }: QueueRecord): Reply {
  return {
    name,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
    parallelism,
    lag,
    paused: isPaused,
  };
}

/** A URL group. */
export function groupReply({ name, createdAt, updatedAt, endpoints }: UrlGroupRecord): Reply {
  return { name, createdAt: createdAt.getTime(), updatedAt: updatedAt.getTime(), endpoints };
}

/** What is allowed under a key. 0: there is no limit. */
export function flowReply(flow: FlowControlRecord): Reply {
  return {
    flowControlKey: flow.key,
    waitListSize: flow.waiting,
    parallelismMax: flow.parallelism ?? 0,
    parallelismCount: flow.active,
    rateMax: flow.rate ?? 0,
    rateCount: flow.started,
    ratePeriod: (flow.periodMs ?? 1_000) / 1_000,
    ratePeriodStart: Math.floor((flow.periodStart?.getTime() ?? 0) / 1_000),
    isPaused: flow.isPaused,
    isPinnedParallelism: flow.isParallelismPinned,
    isPinnedRate: flow.isRatePinned,
  };
}

/** A schedule. */
export function scheduleReply(schedule: ScheduleRecord): Reply {
  const { to, delivery, flow, delayMs } = schedule;
  return {
    scheduleId: schedule.scheduleId,
    cron: schedule.cron,
    destination: to.kind === 'url' ? to.url : to.name,
    createdAt: schedule.createdAt.getTime(),
    method: delivery.method,
    header: delivery.headers,
    body: delivery.body,
    bodyBase64: delivery.bodyBase64,
    retries: delivery.retries,
    retryDelayExpression: delivery.retryDelay,
    timeout: delivery.timeoutMs,
    delay: delayMs === undefined ? undefined : delayMs / 1_000,
    ...shownCallbacks(delivery),
    ...callerOf(delivery),
    isPaused: schedule.isPaused,
    queueName: delivery.queue,
    ...shownFlow(delivery.flowKey, flow),
    ...shownLabels(delivery.labels),
    lastScheduleTime: schedule.lastAt?.getTime(),
    nextScheduleTime: schedule.nextAt?.getTime(),
    lastScheduleStates: schedule.lastStates,
  };
}

/** What became of one that was published: an object for an address, a list for a URL group, an error where it was refused. */
export function publishReply(outcome: PublishOutcome): Reply | readonly Reply[] {
  if (outcome.kind === 'refused') return { error: outcome.message };
  const replies = outcome.messages.map(({ messageId, url, isDuplicate }) => ({
    messageId,
    url,
    ...(isDuplicate && { deduplicated: true }),
  }));
  return outcome.to === 'group' ? replies : (replies[0] ?? {});
}
