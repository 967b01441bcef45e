import type { DeliveryError } from './relay-store.ts';

// Long enough to tell causes apart, short enough for a label.
const MAX_LENGTH = 160;

/**
 * What an error says, with ids, numbers, addresses and quoted values replaced: for people, and to quieten alerts. Text of at most 160
 * characters, the same in every process and release.
 */
export function errorShape({ name, code, message }: DeliveryError): string {
  const words = `${name}${code === undefined ? '' : ` ${code}`}: ${textShape(message)}`;
  return words.slice(0, MAX_LENGTH).toWellFormed().trim();
}

/** The first 640 characters of a text with what differs from one message to the next replaced. */
export function textShape(text: string): string {
  return text
    .slice(0, 4 * MAX_LENGTH)
    .replaceAll(/"[^"\n]*"|'[^'\n]*'|`[^`\n]*`/g, '…')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/\b(?=\w*\d)\w{12,}\b/g, '…')
    .replaceAll(/\d+(?:[.:]\d+)*/g, '0')
    .replaceAll(/\s+/g, ' ');
}
