import type { BadId, NotFound } from '../operator/operator-outcomes.ts';
import { refusal, type ToolRefusal } from './tool.ts';

/** Why nothing can be said about an id. */
export function refusedId(outcome: NotFound | BadId): ToolRefusal {
  return outcome.kind === 'bad-id'
    ? refusal(`that is no id: ${outcome.problem}`, 'take an id from list_dlq_events or search_messages')
    : refusal(
        'no message has that id: it was never committed, or its history is no longer kept',
        'take an id from list_dlq_events or search_messages',
      );
}
