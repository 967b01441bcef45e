import { aesSealing, type Sealing } from '../outbox/sealing.ts';
import { usageError } from './cli-error.ts';
import type { Io } from './io.ts';

/**
 * What opens sealed payloads for this program: HOLDFAST_SEALING_KEYS, written `name=secret,name=secret`, the current one first. Nothing
 * where it is not set: payloads are shown sealed then.
 */
export function sealingOf({ env }: Pick<Io, 'env'>): Sealing | undefined {
  const text = env['HOLDFAST_SEALING_KEYS'] ?? '';
  if (text === '') return undefined;
  // A secret may end with =, as base64 does.
  const pairs = text.split(',').map((part) => /^\s*([^=\s]+)=(.+?)\s*$/.exec(part));
  const [current] = pairs;
  if (!current || pairs.includes(null))
    throw usageError('HOLDFAST_SEALING_KEYS is not read; write name=secret,name=secret, the current one first');
  const keys = Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? '']));
  return aesSealing({ current: current[1] ?? '', keys });
}
