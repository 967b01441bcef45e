import { uuidV7 } from '../kernel/uuid-v7.ts';
import { systemEffects } from './effects.ts';

/** A new id: a UUID of version 7, made here and not by the database, so that a role that may only insert can send. */
export function newId(): string {
  return uuidV7(systemEffects.now().wallMs, crypto.getRandomValues(new Uint8Array(10)));
}
