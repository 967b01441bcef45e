import type { CallbackTarget, DeliveryRequest, FlowRules } from '../delivery/delivery-request.ts';

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
