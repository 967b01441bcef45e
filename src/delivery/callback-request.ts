import { hideUrlSecrets } from '../kernel/hide-url-secrets.ts';
import { isSecretName } from '../kernel/secret-name.ts';
import type { AttemptReport } from './delivery-log.ts';
import type { CallbackTarget, DeliveryRequest } from './delivery-request.ts';
import type { CallbackPublish } from './sender-store.ts';

/** An attempt, and when its message was made. */
export interface ToldAttempt extends AttemptReport {
  readonly createdAt: Date;
}

/**
 * What is published because an attempt ended: to the callback after each, to the failure callback after the last that failed. A callback
 * has none itself.
 */
export function callbacksOf(told: ToldAttempt): readonly CallbackPublish[] {
  const { callback, failureCallback } = told.request;
  const made: CallbackPublish[] = [];
  if (callback) made.push(callbackTo(callback, told, callbackBody(told)));
  if (failureCallback && told.state === 'FAILED') {
    made.push(callbackTo(failureCallback, told, { ...callbackBody(told), dlqId: `${told.messageId}-${told.cycle}` }));
  }
  return made;
}

function callbackTo(target: CallbackTarget, told: ToldAttempt, body: object): CallbackPublish {
  const { request } = told;
  const { url, headers, ...rules } = target;
  const isHidden = request.hidden !== undefined || holdsSecrets(told);
  return {
    to: { kind: 'url', url },
    delivery: {
      ...rules,
      headers: { ...headers, 'Content-Type': ['application/json'] },
      body: JSON.stringify(body),
      callerIp: request.callerIp,
      labels: request.labels,
      ...(request.tenant !== undefined && { tenant: request.tenant }),
      // It holds what the message holds.
      ...(isHidden && { hidden: { body: true } }),
    },
  };
}

/** What it repeats has headers or a URL that are hidden where they stand: as text in a body they would be seen. */
function holdsSecrets({ request: { url, headers }, responseHeaders = {} }: ToldAttempt): boolean {
  return [...Object.keys(headers), ...Object.keys(responseHeaders)].some(isSecretName) || hideUrlSecrets(url) !== url;
}

function callbackBody(told: ToldAttempt): Record<string, unknown> {
  const { request } = told;
  return {
    status: told.responseStatus ?? 0,
    header: told.responseHeaders ?? {},
    body: Buffer.from(told.responseBody ?? new Uint8Array()).toString('base64'),
    retried: told.attempt - 1,
    maxRetries: request.retries,
    sourceMessageId: told.messageId,
    topicName: request.group,
    endpointName: request.endpointName,
    url: request.url,
    method: request.method,
    sourceHeader: request.headers,
    sourceBody: sourceBody(request),
    notBefore: told.createdAt.getTime(),
    createdAt: told.createdAt.getTime(),
    scheduleId: request.scheduleId,
    callerIP: request.callerIp,
    ...(told.error !== undefined && { error: told.error }),
  };
}

function sourceBody({ body, bodyBase64 }: DeliveryRequest): string {
  return bodyBase64 ?? Buffer.from(body ?? '').toString('base64');
}
