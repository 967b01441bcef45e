import type { DeliveryError } from './relay-store.ts';

// Long enough to tell causes apart, short enough for a label.
const MAX_LENGTH = 160;

/**
 * What errors of one cause have in common: name, code and message, with ids, numbers, addresses and quoted values replaced.
 * Text of at most 160 characters, the same in every process and release.
 */
export function errorFingerprint({ name, code, message }: DeliveryError): string {
  const shape = message
    .slice(0, 4 * MAX_LENGTH)
    .replaceAll(/"[^"\n]*"|'[^'\n]*'|`[^`\n]*`/g, '…')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/\b(?=\w*\d)\w{12,}\b/g, '…')
    .replaceAll(/\d+(?:[.:]\d+)*/g, '0')
    .replaceAll(/\s+/g, ' ');
  return `${name}${code === undefined ? '' : ` ${code}`}: ${shape}`.slice(0, MAX_LENGTH).toWellFormed().trim();
}
