import type { DeadDelivery } from '../delivery/dead-deliveries.ts';
import type { DeliveryEvent } from '../delivery/delivery-log.ts';
import type { DeliveryRecord } from '../delivery/delivery-messages.ts';
import type { CallbackTarget, DeliveryRequest, HeaderLists } from '../delivery/delivery-request.ts';
import type { ScheduleRecord } from '../delivery/schedules.ts';
import type { WebhookEndpointRecord } from '../delivery/webhook-endpoints.ts';
import { HIDDEN, isSecretName } from '../kernel/secret-name.ts';
import { REDACTED } from './redaction.ts';

/** A line of the log with its body as text where it is UTF-8, in base64 where it is not. */
export interface ShownEvent extends Omit<DeliveryEvent, 'responseBody'> {
  readonly responseBody?: string | undefined;
  readonly responseBodyBase64?: string | undefined;
}

/**
 * Deliveries as an operator is shown them: headers that hold secrets by their names are hidden from everybody, bodies from whoever may not
 * see all of payloads. What a sender hid is hidden before.
 */
export class DeliveryViews {
  readonly #seesBodies: boolean;

  constructor(seesBodies: boolean) {
    this.#seesBodies = seesBodies;
  }

  record = (record: DeliveryRecord): DeliveryRecord => ({ ...record, request: this.#request(record.request) });

  dead = ({ responseBody, responseBodyBase64, ...rest }: DeadDelivery): DeadDelivery => ({
    ...rest,
    request: this.#request(rest.request),
    responseHeaders: rest.responseHeaders && this.#headers(rest.responseHeaders),
    ...this.#body('responseBody', responseBody, responseBodyBase64),
  });

  event = ({ responseBody, ...rest }: DeliveryEvent): ShownEvent => {
    const text = responseBody && textOf(responseBody);
    const base64 = responseBody && text === undefined ? Buffer.from(responseBody).toString('base64') : undefined;
    return {
      ...rest,
      request: this.#request(rest.request),
      responseHeaders: rest.responseHeaders && this.#headers(rest.responseHeaders),
      ...this.#body('responseBody', text, base64),
    };
  };

  schedule = (schedule: ScheduleRecord): ScheduleRecord => ({
    ...schedule,
    delivery: this.#parts(schedule.delivery),
  });

  endpoint = (endpoint: WebhookEndpointRecord): WebhookEndpointRecord => ({
    ...endpoint,
    headers: Object.fromEntries(
      Object.entries(endpoint.headers).map(([name, value]) => [name, isSecretName(name) ? HIDDEN : value]),
    ),
  });

  #request(request: DeliveryRequest): DeliveryRequest {
    return this.#parts(request);
  }

  #parts<T extends Pick<DeliveryRequest, 'headers' | 'body' | 'bodyBase64' | 'callback' | 'failureCallback'>>(
    given: T,
  ): T {
    const { body, bodyBase64, ...rest } = given;
    const { callback, failureCallback } = given;
    return {
      ...rest,
      headers: this.#headers(given.headers),
      ...(callback && { callback: this.#callback(callback) }),
      ...(failureCallback && { failureCallback: this.#callback(failureCallback) }),
      ...this.#body('body', body, bodyBase64),
    } as unknown as T;
  }

  #callback(callback: CallbackTarget): CallbackTarget {
    return { ...callback, headers: this.#headers(callback.headers) };
  }

  #headers(headers: HeaderLists): HeaderLists {
    const shown = Object.entries(headers).map(([name, values]) => [
      name,
      isSecretName(name) ? values.map(() => HIDDEN) : values,
    ]);
    return Object.fromEntries(shown) as HeaderLists;
  }

  #body(name: 'body' | 'responseBody', text: string | undefined, base64: string | undefined): object {
    if (text === undefined && base64 === undefined) return {};
    if (!this.#seesBodies) return { [name]: REDACTED };
    return text === undefined ? { [`${name}Base64`]: base64 } : { [name]: text };
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
