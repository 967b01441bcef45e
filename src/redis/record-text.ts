import type { Claim, FinishedStatus, IdempotencyRecord, KeptReply } from '../idempotency/idempotency-store.ts';
import { replyFromText, replyToText } from './reply-text.ts';

/*
 * A record is one text: lines for status, owner, fingerprint, run, `1` if its person was erased while it ran, person, domain, and four
 * times (created, end of the lease, updated, expires), and the reply after them.
 *
 * A claim that meets nothing is written by one plain command, without any script. It cannot ask for the server's clock, so it leaves
 * two times empty and says instead of the others how long they are: when it came follows from how long it still is to be kept.
 */

// Of this way to write records. One that was written in another way is refused.
const MARK = '1';
const LINES = 11;

const STATUS = { p: 'processing', u: 'unknown', c: 'completed', f: 'failed' } as const;

/** The lines of a claim without its times, the same for each step. */
export function claimHead({ owner, fingerprint, person, domain }: Claim): string {
  return `${MARK}p\n${line(owner)}\n${line(fingerprint)}\n1\n\n${line(person ?? '')}\n${line(domain)}\n`;
}

/** What a plain command writes behind them. */
export function claimTimes({ leaseMs, keepMs }: Claim): string {
  return `\n${leaseMs}\n\n${keepMs}\n`;
}

/** How long the server keeps a key: it removes it after that millisecond, and a record is gone at it. */
export function claimTtlMs({ keepMs }: Claim): number {
  return Math.max(1, Math.ceil(keepMs) - 1);
}

/** A reply as it stands behind the lines. */
export function replyLines(reply: KeptReply): string {
  const [form, head, body] = replyToText(reply);
  return `${form}\n${head.length}\n${head}${body}`;
}

/** What a finished record answers to a claim. */
export interface FinishedRecord {
  readonly fingerprint: string;
  readonly status: FinishedStatus;
  readonly reply: KeptReply | null;
  readonly finishedAt: number;
  readonly expiresAt: number;
}

/** The record, if it has finished. Throws for a text that is no record. */
export function finishedRecord(text: string): FinishedRecord | undefined {
  const status = statusOf(text);
  if (status !== 'completed' && status !== 'failed') return undefined;
  const { lines, reply } = linesOf(text);
  const [, , fingerprint = '', , , , , , , updated, expires] = lines;
  return {
    fingerprint: plain(fingerprint),
    status,
    reply: replyOf(reply),
    finishedAt: Number(updated),
    expiresAt: Number(expires),
  };
}

/** The record as operators see it. Throws for a text that is no record. */
export function shownRecord(id: string, text: string): IdempotencyRecord {
  const { lines, reply } = linesOf(text);
  const [, , fingerprint = '', run, , person = '', domain = '', created, , updated, expires] = lines;
  return {
    id,
    domain: plain(domain),
    person: person === '' ? null : plain(person),
    status: statusOf(text),
    run: Number(run),
    fingerprint: plain(fingerprint),
    reply: replyOf(reply),
    createdAt: Number(created),
    updatedAt: Number(updated),
    expiresAt: Number(expires),
  };
}

/** A text that fills one line, the same for the same text. */
export function line(text: string): string {
  return /[\n%]/.test(text) ? text.replaceAll('%', '%25').replaceAll('\n', '%0A') : text;
}

/** The text that `line` was given. */
export function plain(text: string): string {
  return text.includes('%') ? text.replaceAll('%0A', '\n').replaceAll('%25', '%') : text;
}

function statusOf(text: string): IdempotencyRecord['status'] {
  const status = text.startsWith(MARK) && text[2] === '\n' ? STATUS[text[1] as keyof typeof STATUS] : undefined;
  if (status === undefined) throw new TypeError('what lies under the key is no record of this version');
  return status;
}

function linesOf(text: string): { readonly lines: readonly string[]; readonly reply: string } {
  const lines: string[] = [];
  let at = 0;
  while (lines.length < LINES) {
    const to = text.indexOf('\n', at);
    if (to < 0) throw new TypeError('the record is cut off');
    lines.push(text.slice(at, to));
    at = to + 1;
  }
  return { lines, reply: text.slice(at) };
}

/** The reply again; nothing where there is none. */
export function replyOf(text: string): KeptReply | null {
  if (text === '') return null;
  const [first, second] = [text.indexOf('\n'), text.indexOf('\n', text.indexOf('\n') + 1)];
  const to = second + 1 + Number(text.slice(first + 1, second));
  return replyFromText(text.slice(0, first), text.slice(second + 1, to), text.slice(to));
}
