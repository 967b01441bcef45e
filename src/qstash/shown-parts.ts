import { createHash } from 'node:crypto';
import type { CallbackTarget, DeliveryRequest, FlowRules, HeaderLists } from '../delivery/delivery-request.ts';

/** What stands in the place of what nobody is shown: two of the same are the same. */
function redacted(text: string): string {
  return `REDACTED:${createHash('sha256').update(text).digest('hex')}`;
}

/** The headers of a message, with those hidden that should be. */
export function shownHeaders({ headers, hidden }: Pick<DeliveryRequest, 'headers' | 'hidden'>): HeaderLists {
  const names = hidden?.headers;
  if (names === undefined) return headers;
  const isHidden = (name: string): boolean => names === true || names.includes(name.toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, isHidden(name) ? values.map(redacted) : values]),
  );
}

type WithBody = Pick<DeliveryRequest, 'body' | 'bodyBase64' | 'hidden'>;

/** `body` or `bodyBase64` of a message. */
export function shownBody(request: WithBody): { readonly body?: string; readonly bodyBase64?: string } {
  const { body, bodyBase64, hidden } = request;
  if (body === undefined && bodyBase64 === undefined) return {};
  if (hidden?.body === true) return { body: redacted(body ?? bodyBase64 ?? '') };
  return body === undefined ? { bodyBase64: bodyBase64 ?? '' } : { body };
}

/** The body in base64, as the log has it. */
export function shownBodyInBase64(request: WithBody): string | undefined {
  const { body, bodyBase64, hidden } = request;
  if (hidden?.body === true || body === undefined) return shownBody(request).body ?? bodyBase64;
  return Buffer.from(body).toString('base64');
}

/** Callbacks of a message. `plural`: the log writes `callbackHeaders`. */
export function shownCallbacks(
  { callback, failureCallback }: Pick<DeliveryRequest, 'callback' | 'failureCallback'>,
  plural = '',
): Readonly<Record<string, unknown>> {
  const one = (name: string, target: CallbackTarget | undefined): object =>
    target === undefined ? {} : { [name]: target.url, [`${name}Header${plural}`]: target.headers };
  return { ...one('callback', callback), ...one('failureCallback', failureCallback) };
}

/** Flow control as messages and schedules show it. */
export function shownFlow(key: string | undefined, flow: FlowRules | undefined): Readonly<Record<string, unknown>> {
  if (key === undefined) return {};
  const { parallelism, rate, periodMs } = flow ?? {};
  return {
    flowControlKey: key,
    parallelism,
    rate,
    period: periodMs === undefined ? (rate === undefined ? undefined : 1) : periodMs / 1_000,
  };
}

/** The first label, and all. */
export function shownLabels(labels: readonly string[] | undefined): Readonly<Record<string, unknown>> {
  return labels === undefined ? {} : { label: labels[0], labels };
}
