import { errorShape, textShape } from './error-shape.ts';
import type { DeliveryError } from './relay-store.ts';

/** Raised when the same error would get another fingerprint: groups of two versions are never taken for one. */
export const FINGERPRINT_VERSION = 1;

const MAX_FRAMES = 5;
const MAX_FRAME_LENGTH = 120;
/** Of an SQLSTATE. */
const MAX_CODE_DIGITS = 5;

/** What errors of one cause have in common. */
export interface ErrorFingerprint {
  /** The same text for the same cause, in every process, on every machine. */
  readonly text: string;
  /** The places of the stack it is made of, without line numbers and folders; none where there was no stack of the application. */
  readonly frames: readonly string[];
}

/**
 * By what errors are told apart: class and code, and where in the application's code it was thrown. Without such a place, what it says,
 * in its shape. Ids and numbers in names and codes are replaced, so that nothing a message brings along makes a cause of its own.
 */
export function errorFingerprint(error: DeliveryError): ErrorFingerprint {
  const frames = isOurOwn(error) ? [] : framesOf(error.stack ?? '');
  const where = frames.length > 0 ? frames : [errorShape(error)];
  return { text: JSON.stringify([wordOf(error.name), codeOf(error.code ?? ''), ...where]), frames };
}

/** The numbers of a code tell causes apart, as in HTTP_404 or 23505. Where there are so many that they are an id, they do not. */
function codeOf(code: string): string {
  const hasId = code.split(/[^\p{L}\p{N}]/u).some((part) => part.replaceAll(/\D/g, '').length > MAX_CODE_DIGITS);
  return hasId ? wordOf(code) : code.slice(0, MAX_FRAME_LENGTH).toWellFormed();
}

function wordOf(text: string): string {
  return textShape(text).slice(0, MAX_FRAME_LENGTH).toWellFormed();
}

// Made by the engine and not thrown by a handler: where that happens is no place of the application.
const OWN_CODES: ReadonlySet<string | undefined> = new Set(['PROCESS_KILLED', 'SETTLE_FAILED', 'PARKED']);

function isOurOwn({ code }: DeliveryError): boolean {
  return OWN_CODES.has(code);
}

function framesOf(stack: string): readonly string[] {
  const frames: string[] = [];
  for (const line of stack.split('\n')) {
    const frame = frameOf(line);
    if (frame !== undefined) frames.push(frame);
    if (frames.length === MAX_FRAMES) break;
  }
  return frames;
}

/** `charge (charge.ts)` of `    at async charge (file:///app/src/charge.ts:10:5)` or `charge@https://…/charge.ts:10:5`. */
function frameOf(line: string): string | undefined {
  const text = line.trim().slice(0, 1_000);
  const [name, place] = text.startsWith('at ') ? partsOf(text.slice(3), ' (') : partsOf(text, '@');
  if (place.includes('node_modules') || place.startsWith('node:') || place === 'native') return undefined;
  const file = fileOf(place);
  if (file === '' || file.includes('<anonymous>')) return undefined;
  return `${functionOf(name)} (${textShape(file)})`.slice(0, MAX_FRAME_LENGTH).toWellFormed();
}

/** What is called, and the place: all of it where it is not said what is called. */
function partsOf(text: string, mark: string): readonly [name: string, place: string] {
  const at = text.lastIndexOf(mark);
  if (at < 0) return ['', text.replace(/^async /, '')];
  const rest = text.slice(at + mark.length);
  return [text.slice(0, at), rest.endsWith(')') ? rest.slice(0, -1) : rest];
}

function functionOf(name: string): string {
  const plain = name.replace(/^async /, '').replace(/ \[as .*/, '');
  return plain === '' || plain.endsWith('<anonymous>') ? 'anonymous' : textShape(plain);
}

/** The last part of a path or address, without line, column and query: folders differ from machine to machine. */
function fileOf(place: string): string {
  let end = place.length;
  for (let part = 0; part < 2; part += 1) {
    const colon = place.lastIndexOf(':', end - 1);
    if (colon < 0 || colon === end - 1 || !isNumber(place.slice(colon + 1, end))) break;
    end = colon;
  }
  const path = place.slice(0, end).split('?', 1)[0] ?? '';
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

function isNumber(text: string): boolean {
  for (const digit of text) if (digit < '0' || digit > '9') return false;
  return true;
}
