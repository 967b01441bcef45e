import type { BadId, HandlerRefusal, NotFailed, NotFound } from '../operator/operator-outcomes.ts';

/** Every way a verb can be refused. */
export type Refusal =
  | NotFound
  | BadId
  | NotFailed
  | HandlerRefusal
  | { readonly kind: 'already-delivered'; readonly handlers: readonly string[] }
  | { readonly kind: 'not-repeatable'; readonly handlers: readonly string[] }
  | { readonly kind: 'changed'; readonly version: number };

/** A refusal in one sentence, with what to do next. */
export function describeRefusal(refusal: Refusal, id: string): string {
  switch (refusal.kind) {
    case 'not-found':
      return `there is no message ${id}; it was never committed, or its history is no longer kept. holdfast dlq:list shows what failed`;
    case 'bad-id':
      return `${JSON.stringify(id)} is not an id: ${refusal.problem}; copy one from holdfast dlq:list`;
    case 'not-failed':
      return `${id} has not failed, it is ${refusal.status}; ${
        refusal.status === 'delivered'
          ? `holdfast events:replay --event-id ${id.replace(/:\d+$/, '')} --projectors <names> runs again what is declared repeatable`
          : `holdfast why ${id} tells what it waits for`
      }`;
    case 'unknown-handler':
      return `no handler is named ${JSON.stringify(refusal.name)}; ${
        refusal.known.length === 0 ? 'none has registered yet' : `known are ${refusal.known.join(', ')}`
      }`;
    case 'ambiguous-handler':
      return `two services have a handler named ${JSON.stringify(refusal.name)}; write ${refusal.write.join(' or ')}`;
    case 'already-delivered':
      return `${refusal.handlers.join(', ')} succeeded already; to run again what is declared repeatable: holdfast events:replay --event-id ${id} --projectors ${refusal.handlers.join(',')}`;
    case 'not-repeatable':
      return `${refusal.handlers.join(', ')} succeeded and may not run twice; declare the handler repeatable in its options first`;
    case 'changed':
      return `somebody edited ${id} meanwhile, it is at version ${refusal.version}; look at it with holdfast dlq:show ${id} and edit again`;
  }
}
