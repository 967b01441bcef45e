import { storedName } from './tenants.ts';

/** The methods a message may be delivered by. */
export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type HttpMethod = (typeof HTTP_METHODS)[number];

/** Headers as they are kept: names as `Content-Type` is written, each with all its values. */
export type HeaderLists = Readonly<Record<string, readonly string[]>>;

/** How something is sent and tried again. */
export interface SendRules {
  readonly method: HttpMethod;
  /** How often it is tried again after the first time. */
  readonly retries: number;
  /** An expression of `retried`, from 0, in milliseconds. Default: 12 s, 2 m 28 s, 30 m 8 s, 6 h 7 m, a day. */
  readonly retryDelay?: string | undefined;
  /** Instead of an expression: the wait before each further try, in seconds; the last one again where there are more. With some jitter. */
  readonly retrySeconds?: readonly number[] | undefined;
  /** How long one attempt may take. Default and most: what the server allows. */
  readonly timeoutMs?: number | undefined;
}

/** Where a callback goes. */
export interface CallbackTarget extends SendRules {
  readonly url: string;
  /** What is sent along. */
  readonly headers: HeaderLists;
}

/** At most so many at once, at most so many a period, over all processes. */
export interface FlowRules {
  readonly parallelism?: number | undefined;
  readonly rate?: number | undefined;
  readonly periodMs?: number | undefined;
}

/** What nobody is shown: the body, all headers, or some of them. Deliveries carry it as it is. */
export interface HiddenParts {
  readonly body?: boolean | undefined;
  /** `true`: all of them. Names are lower case. */
  readonly headers?: true | readonly string[] | undefined;
}

/** What stands in the place of what a sender hid. It is the same for every value: nothing can be compared by it. */
export const REDACTED_BY_SENDER = '[redacted by sender]';

/** One HTTP delivery as it is kept: the payload of a message of the engine. Times and ids are the message's. */
export interface DeliveryRequest extends SendRules {
  /** Absolute, http or https. */
  readonly url: string;
  /** What the destination gets besides what the server adds. */
  readonly headers: HeaderLists;
  /** As text where it is UTF-8, in base64 where it is not; neither: no body. */
  readonly body?: string | undefined;
  readonly bodyBase64?: string | undefined;
  /** Who signs it: the server's keys as QStash does, or the secrets of a registered endpoint (Standard Webhooks). */
  readonly signedBy: 'server' | 'endpoint';
  /** `signedBy: 'endpoint'`: which, and the type of the event. */
  readonly endpointId?: string | undefined;
  readonly eventType?: string | undefined;
  /** Told after every attempt. */
  readonly callback?: CallbackTarget | undefined;
  /** Told once, when it has failed for good. */
  readonly failureCallback?: CallbackTarget | undefined;
  /** It stands in this queue; not together with `flowKey`. */
  readonly queue?: string | undefined;
  readonly flowKey?: string | undefined;
  /** The URL group it was published to, and the name of the endpoint in it. */
  readonly group?: string | undefined;
  readonly endpointName?: string | undefined;
  readonly scheduleId?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly callerIp?: string | undefined;
  /** Whose it is; nothing: `default`. Queue, group, key and schedule are names of that tenant's. */
  readonly tenant?: string | undefined;
  readonly hidden?: HiddenParts | undefined;
}

/** The type of the engine's messages that are HTTP deliveries, who sends them, and the handler that delivers them. */
export const DELIVERY_TYPE = 'http.delivery';
export const DELIVERY_SERVICE = 'delivery';
export const DELIVERY_HANDLER = 'deliver';

/** The key of the line a delivery stands in: a queue, a flow-control key, or its destination. */
export function lineOf(request: Pick<DeliveryRequest, 'queue' | 'flowKey' | 'url' | 'tenant' | 'endpointId'>): string {
  const { queue, tenant, url } = request;
  if (queue !== undefined) return `queue:${storedName(tenant, queue)}`;
  const flowKey = storedFlowKey(request);
  return flowKey === undefined ? `to:${destinationOf(url)}` : `flow:${flowKey}`;
}

/** The flow-control key as it is stored. That of a registered endpoint is the server's own. */
export function storedFlowKey({
  flowKey,
  tenant,
  endpointId,
}: Pick<DeliveryRequest, 'flowKey' | 'tenant' | 'endpointId'>): string | undefined {
  return flowKey === undefined || endpointId !== undefined ? flowKey : storedName(tenant, flowKey);
}

/** What breakers, fairness and the list of destinations go by: scheme, host and port. */
export function destinationOf(url: string): string {
  return new URL(url).origin;
}
