import type { AttemptReport } from './delivery-log.ts';
import type { HeaderLists } from './delivery-request.ts';
import type { LineSettings } from './line-settings.ts';
import type { PublishRequest } from './publishing.ts';

/** A callback as it is published: to an address. */
export interface CallbackPublish extends PublishRequest {
  readonly to: { readonly kind: 'url'; readonly url: string };
}

/** The breaker of a destination as the database has it. */
export interface DestinationSight {
  readonly destination: string;
  readonly state: 'closed' | 'open' | 'probing';
  readonly isHeld: boolean;
  readonly epoch: number;
  /** `open`: how long until one message is tried; `probing`: how long the one who tries is waited for. Nothing: held by hand. */
  readonly probeInMs?: number | undefined;
  /** How many tries have failed since it opened: raised by `probing` → `open`, 0 again by `closed`. */
  readonly probes: number;
}

/** An endpoint as the sender sees it. Kept in memory for a second. */
export interface EndpointSight {
  readonly url: string;
  /** Besides those of the message. */
  readonly headers: HeaderLists;
  /** `whsec_…`, the newest first. */
  readonly secrets: readonly string[];
  readonly timeoutMs?: number | undefined;
}

/** What the sender needs from a database, besides the engine. */
export interface SenderStore extends LineSettings {
  /** Begins to follow the settings, and to forget old lines of the log. Before it `onChange` tells nothing. */
  open(): Promise<void>;
  /** May be called twice. What is under way is waited for. */
  close(): Promise<void>;
  /**
   * Writes how attempts ended, and publishes their callbacks, in one commit; many at once. Written before the engine is told: a crash in
   * between delivers again, and an attempt of the same number is not told a second time.
   */
  report(reports: readonly (AttemptReport & { readonly callbacks: readonly CallbackPublish[] })[]): Promise<void>;
  /** All that are not closed, and those that were closed since the last call. A probe that was lost is `open` and due. */
  destinations(): Promise<readonly DestinationSight[]>;
  /**
   * Changes the breaker of a destination, only if its epoch is the one that was seen (0: none was) and nobody holds it; raises the epoch.
   * Answers what it is now, and whether this call made it so: of two processes one may try. `probing` has `probeInMs` (default a minute)
   * to come to an end.
   */
  changeDestination(change: {
    readonly destination: string;
    readonly epoch: number;
    readonly to: 'open' | 'probing' | 'closed';
    readonly probeInMs?: number | undefined;
    readonly error?: string | undefined;
  }): Promise<DestinationSight & { readonly isChanged: boolean }>;
  /**
   * Where an endpoint is now, and what it is signed by: a message goes there, and not where the endpoint was when it was sent. `disabled`:
   * postpone it, it waits until somebody enables the endpoint; nothing: the endpoint was deleted, give it up.
   */
  endpoint(endpointId: string): Promise<EndpointSight | 'disabled' | undefined>;
  /** An endpoint answered: `gone` (410) disables it, only failures for long too. */
  noteEndpoint(endpointId: string, answer: 'well' | 'failed' | 'gone'): Promise<void>;
  /** Those of a tenant; nothing: `default`. */
  signingKeys(tenant?: string): Promise<{ readonly current: string; readonly next: string }>;
}
