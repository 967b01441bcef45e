import { createHash } from 'node:crypto';

/** An id made of a name: the same for the same name. A UUID of version 8, which stands for a rule of one's own. */
export function hashedId(name: string): string {
  const digest = createHash('sha256').update(name).digest('hex');
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
