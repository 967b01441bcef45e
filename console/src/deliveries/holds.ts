import { useQuery } from '@tanstack/react-query';
import { wholeQuery } from '../api/delivery-queries.ts';
import { type Delivery, destinationOf } from './delivery-state.ts';
import { storedNames } from './stored-names.ts';

/** What keeps a delivery that is due from being tried. */
export interface Hold {
  readonly kind: 'breaker' | 'queue' | 'flow' | 'endpoint';
  /** Of what. */
  readonly name: string;
  /** When one message is tried. */
  readonly probeAt?: string | undefined;
}

/** Tells for each delivery that waits what holds it: a breaker that is open, a queue or a key that is paused. */
export function useHolds(): (delivery: Pick<Delivery, 'request' | 'state'>) => Hold | undefined {
  const { data: destinations = [] } = useQuery(wholeQuery('delivery/destinations'));
  const { data: queues = [] } = useQuery(wholeQuery('delivery/queues'));
  const { data: flows = [] } = useQuery(wholeQuery('delivery/flow-controls'));
  return ({ state, request }) => {
    if (state !== 'waiting') return undefined;
    const { endpointId, url } = request;
    const { queue, flowKey } = storedNames(request);
    if (queues.some(({ name, isPaused }) => name === queue && isPaused)) return { kind: 'queue', name: queue ?? '' };
    if (flows.some(({ key, isPaused }) => key === flowKey && isPaused)) {
      return endpointId === undefined ? { kind: 'flow', name: flowKey ?? '' } : { kind: 'endpoint', name: endpointId };
    }
    const name = destinationOf(url);
    const open = destinations.find(({ destination, breaker }) => destination === name && breaker !== 'closed');
    return open === undefined ? undefined : { kind: 'breaker', name, probeAt: open.probeAt };
  };
}
