import { OptionCheck } from '../kernel/check-options.ts';
import type { EventPlaces } from './command-store.ts';

/**
 * How far a reader has come, as text: the last `n` of each command. One number for all would not do: events of two transactions
 * become visible in another order than they are written, and a reader would pass by what comes late.
 */
export function writeCursor(places: EventPlaces): string {
  return [...places].map(([id, n]) => `${id}.${n}`).join(' ');
}

const PLACE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([1-9]\d{0,8})$/;

/** Reads what `writeCursor` wrote. Throws `INVALID_OPTIONS`. */
export function readCursor(of: string, text: unknown): Map<string, number> {
  const places = new Map<string, number>();
  if (text === undefined || text === '') return places;
  for (const place of typeof text === 'string' ? text.split(' ') : ['']) {
    const [, id, n] = PLACE.exec(place) ?? [];
    if (id === undefined) {
      const check = new OptionCheck(of);
      check.refuse('after', text, 'pass the cursor of an event, or leave it out');
      check.done();
    } else places.set(id, Number(n));
  }
  return places;
}
