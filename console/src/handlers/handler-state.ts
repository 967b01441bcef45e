import type { Answer } from '../api/wire.ts';

/** A handler with what there is to do for it. */
export type HandlerRow = Answer<'handlers'>[number] & {
  readonly stats: Answer<'stats'>['handlers'][number] | undefined;
};

/** As it is written wherever it must not be mistaken for another. */
export function nameOf({ service, handler }: Pick<HandlerRow, 'service' | 'handler'>): string {
  return `${service}/${handler}`;
}

/** In one word: retired, paused, without a worker, or on. */
export function stateOfHandler(handler: {
  readonly types: readonly string[];
  readonly pausedAt?: string | undefined;
  readonly workers: readonly string[];
}): 'retired' | 'paused' | 'no-worker' | 'on' {
  if (handler.types.length === 0) return 'retired';
  if (handler.pausedAt !== undefined) return 'paused';
  return handler.workers.length === 0 ? 'no-worker' : 'on';
}
