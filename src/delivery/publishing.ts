import type { DeliveryRequest, FlowRules } from './delivery-request.ts';
import type { ChangedBy } from './webhook-endpoints.ts';

/** Where something is published to: an address, or all endpoints of a URL group. */
export type PublishTarget =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'group'; readonly name: string };

/** One address of a URL group. */
export interface UrlGroupEndpoint {
  readonly name?: string | undefined;
  readonly url: string;
}

/** What is published. */
export interface PublishRequest {
  readonly to: PublishTarget;
  readonly delivery: Omit<DeliveryRequest, 'url' | 'group' | 'endpointName' | 'signedBy' | 'endpointId' | 'eventType'>;
  /** Not before this time. Default: at once. */
  readonly notBefore?: Date | undefined;
  /** Within the window a second one with the same id is not stored. `content`: the id is made of destination, body and headers. */
  readonly deduplication?: { readonly id: string } | { readonly content: true } | undefined;
  /** The limits of `delivery.flowKey` from now on, unless they are pinned. */
  readonly flow?: FlowRules | undefined;
}

/** What became of it for one destination. `isDuplicate`: the id is that of the first. */
export interface Published {
  readonly messageId: string;
  /** Of a group: the endpoint's. */
  readonly url?: string | undefined;
  readonly isDuplicate: boolean;
}

/** Why something cannot be published. */
export interface PublishRefusal {
  readonly kind: 'refused';
  readonly why:
    | 'destination-refused'
    | 'group-unknown'
    | 'group-empty'
    | 'too-large'
    /** All of one call together: none of it was taken in. */
    | 'too-much'
    | 'queue-and-flow'
    | 'full'
    | 'invalid';
  /** For people, with the next step. */
  readonly message: string;
}

export type PublishOutcome =
  | { readonly kind: 'published'; readonly to: 'url' | 'group'; readonly messages: readonly Published[] }
  | PublishRefusal;

/** Taking in what is to be delivered. */
export interface Publishing {
  /** All in one commit; the outcomes are in their order, and a refusal leaves the others be. `by`: who, in the log. */
  publish(requests: readonly PublishRequest[], by?: ChangedBy): Promise<readonly PublishOutcome[]>;
}
