import type { ItemOf } from '../parts/listed.tsx';

export type Delivery = ItemOf<'delivery/messages'>;

/** The word that `StateMark` knows the state of a delivery by. */
export function stateOfDelivery(
  { state, attempts, nextAt }: Pick<Delivery, 'state' | 'attempts' | 'nextAt'>,
  nowMs: number = Date.now(),
): string {
  if (state !== 'waiting') return state;
  if (attempts > 0) return 'retrying';
  return nextAt !== undefined && Date.parse(nextAt) > nowMs ? 'scheduled' : 'pending';
}

/** Without the scheme: where there is little room the path matters more. */
export function shortUrl(url: string): string {
  return url.replace(/^https?:\/\//i, '');
}

/** Scheme, host and port: what breakers go by. */
export function destinationOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}
