import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import { abortable } from './abortable.ts';
import type { CommandEvent, StreamedCommandEvent } from './command-record.ts';
import type { EventPlaces } from './command-store.ts';
import { readCursor, writeCursor } from './event-cursor.ts';

/** What `events` takes. */
export interface EventOptions {
  /** The cursor of an event: what came behind it. Default: from the beginning. */
  readonly after?: string | undefined;
  /** Ends the stream, without an error. */
  readonly signal?: AbortSignal | undefined;
}

const AT_ONCE = 500;
const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 500;

/** Events as they come, looked for ever less often while nothing happens. Ends with the signal, and leaves no timer behind. */
export function streamEvents(
  effects: Effects,
  read: (after: EventPlaces, limit: number) => Promise<readonly CommandEvent[]>,
  options: EventOptions,
): AsyncIterable<StreamedCommandEvent> {
  checkEvents(options);
  const places = readCursor('events()', options.after);
  return stream(effects, read, places, options.signal);
}

async function* stream(
  effects: Effects,
  read: (after: EventPlaces, limit: number) => Promise<readonly CommandEvent[]>,
  start: EventPlaces,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamedCommandEvent, void, undefined> {
  const sleep = createSleep(effects);
  const places = new Map(start);
  let lookMs = FIRST_LOOK_MS;
  while (!signal?.aborted) {
    const events = await abortable(read(places, AT_ONCE), signal).catch((error: unknown) => {
      if (signal?.aborted) return [];
      throw error;
    });
    for (const event of events) {
      if (signal?.aborted) return;
      places.set(event.commandId, event.n);
      yield { ...event, cursor: writeCursor(places) };
    }
    lookMs = events.length > 0 ? FIRST_LOOK_MS : Math.min(lookMs * 2, LONGEST_LOOK_MS);
    // Its only rejection is the abort.
    if (events.length < AT_ONCE) await sleep(lookMs, signal).catch(() => undefined);
  }
}

function checkEvents(options: EventOptions): void {
  const check = new OptionCheck('events()');
  if (check.object('options', options, 'pass an object, or leave it out')) {
    check.known(options, ['after', 'signal']);
    if (options.signal !== undefined && !(options.signal instanceof AbortSignal))
      check.refuse('signal', options.signal, 'pass an AbortSignal, or leave it out');
  }
  check.done();
}
