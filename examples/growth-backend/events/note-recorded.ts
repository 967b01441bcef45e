import type { RelayObserver } from 'holdfast';
import type { FactRecorder } from 'holdfast/postgres';
import { correlationOf } from '../correlation.ts';

/** Notes whose event was recorded: what only came over the stream is then found by its user or mission too. */
export function noteRecorded({ note }: Pick<FactRecorder, 'note'>): RelayObserver {
  return (event) => {
    if (event.kind !== 'run-done' || event.handler !== 'record') return;
    const { id, type, headers } = event.delivery;
    note('recorded', { ...correlationOf(headers), eventId: id, eventType: type });
  };
}
