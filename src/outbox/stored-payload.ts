import { HoldfastError } from '../kernel/error.ts';
import type { SealAbout, SealedPayload, Sealing } from './sealing.ts';

/** The header of a message that says which version its payload is of; without it, of the first. */
export const VERSION_HEADER = 'holdfast-version';
/** The header of a message that says whom it is about. */
export const PERSON_HEADER = 'holdfast-person';
/** Headers that begin so are ours. */
export const OWN_HEADERS = 'holdfast-';

const SEALED = '{"$sealed":';
const ERASED = '{"$erased":';

/** What is left of a payload that was erased. */
export const ERASED_PAYLOAD = '{"$erased": true}';

/** A name at the top of a payload that would look like ours. */
export function ownName(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  if ('$sealed' in payload) return '$sealed';
  return '$erased' in payload ? '$erased' : undefined;
}

const DOLLAR = 36;

/** True for a payload that is what its sender wrote, by one letter: asked for every message. Others are looked at closely. */
export function isPlain(text: string): boolean {
  return text.charCodeAt(2) !== DOLLAR;
}

/** The text under which a sealed payload is stored. */
function storedText({ keyId, text }: SealedPayload): string {
  return `${SEALED}${JSON.stringify({ key: keyId, text })}}`;
}

/** What is sealed in a payload as it is stored; nothing: it is not sealed. */
function sealedIn(text: string): SealedPayload | undefined {
  return text.startsWith(SEALED) ? sealedOf(JSON.parse(text)) : undefined;
}

/** The same of a payload that was read. */
export function sealedOf(payload: unknown): SealedPayload | undefined {
  const inner = (payload as { readonly $sealed?: { readonly key?: unknown; readonly text?: unknown } } | null)?.$sealed;
  if (typeof inner?.key !== 'string' || typeof inner.text !== 'string') return undefined;
  return { keyId: inner.key, text: inner.text };
}

/** The payload as it is stored: sealed, where something seals it. */
export async function sealPayload(
  sealing: Sealing | false | undefined,
  text: string,
  about: SealAbout,
): Promise<string> {
  if (!sealing) return text;
  const { seal } = sealing;
  return storedText(await seal(text, about));
}

/**
 * The payload as it was before it was sealed. Throws `PAYLOAD_SEALED` where nothing opens it, `PAYLOAD_ERASED` where nothing is left,
 * and what `open` throws.
 */
export async function openPayload(
  sealing: Sealing | false | undefined,
  text: string,
  about: SealAbout,
): Promise<string> {
  if (text.startsWith(ERASED)) throw new HoldfastError('PAYLOAD_ERASED', { type: about.type });
  const sealed = sealedIn(text);
  if (!sealed) return text;
  if (!sealing) throw new HoldfastError('PAYLOAD_SEALED', { type: about.type, keyId: sealed.keyId });
  const { open } = sealing;
  return open(sealed, about);
}
