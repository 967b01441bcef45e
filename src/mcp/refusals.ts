import type { BadId, HandlerRefusal, NotFound } from '../operator/operator-outcomes.ts';
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

/** Why no handler, or more than one, is meant. */
export function refusedHandler(outcome: HandlerRefusal): ToolRefusal {
  return outcome.kind === 'unknown-handler'
    ? refusal('no handler goes by that name', 'list_handlers lists them; write the name, or service/name')
    : refusal('two services have a handler of that name', `write ${outcome.write.join(' or ')}`);
}
