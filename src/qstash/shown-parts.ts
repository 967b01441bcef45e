import { createHash } from 'node:crypto';
import type { CallbackTarget, DeliveryRequest, FlowRules, HeaderLists } from '../delivery/delivery-request.ts';
import type { ScheduleInput } from '../delivery/schedules.ts';

/** What stands in the place of what nobody is shown: two of the same are the same. */
function redacted(text: string): string {
  return `REDACTED:${createHash('sha256').update(text).digest('hex')}`;
}

/** Headers and body of a schedule, with what is hidden hidden. Those of messages come so from the store. */
export function redactedParts({ headers, body, bodyBase64, hidden }: ScheduleInput['delivery']): {
  readonly header: HeaderLists;
  readonly body?: string | undefined;
  readonly bodyBase64?: string | undefined;
} {
  const names = hidden?.headers;
  const isHidden = (name: string): boolean => names === true || names?.includes(name.toLowerCase()) === true;
  const header = Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, isHidden(name) ? values.map(redacted) : values]),
  );
  const text = body ?? bodyBase64;
  return hidden?.body === true && text !== undefined ? { header, body: redacted(text) } : { header, body, bodyBase64 };
}

/** The body in base64, as the log has it. What is hidden stays a text. */
export function bodyInBase64({ body, bodyBase64, hidden }: DeliveryRequest): string | undefined {
  if (hidden?.body === true) return body;
  return body === undefined ? bodyBase64 : Buffer.from(body).toString('base64');
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
