import type { OutboxStore } from '../outbox/outbox-store.ts';
import type { RelayStore } from '../relay/relay-store.ts';
import type { HandlerRegistry } from './handler-registry.ts';
import type { ServiceAbout } from './start-service.ts';

/** What a service is made of. */
export interface ServiceParts<Tx, SendTx> {
  readonly about: ServiceAbout;
  readonly store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>;
  readonly registry: HandlerRegistry<Tx>;
}

/** What each service was made of, for tests: it is no business of the code that is given one. */
export const SERVICE_PARTS: WeakMap<object, object> = new WeakMap();
