import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Effects } from '../kernel/effects.ts';
import type { EndedSessions } from '../operator/ended-sessions.ts';
import type { Role } from './route.ts';

/** Who asks. */
export interface Who {
  /** A person's or program's name, as it stands in the audit: 1 to 200 characters. */
  readonly actor: string;
  readonly role: Role;
}

/** A secret that lets somebody in. */
export interface Token extends Who {
  /** At least 16 characters, and hard to guess. */
  readonly token: string;
}

const SESSION_MS = 12 * 3_600_000;
const MOST_ENDED = 10_000;

/**
 * Tokens, and the sessions that begin with one. A session is a text the browser keeps: whose it is, until when, and a signature that only
 * the token can make. So it holds on every server that has the token, over restarts, and ends when the token is taken away; before its
 * time where it is noted as ended: by this process, and by all that share `EndedSessions`.
 */
export class Sessions {
  readonly #effects: Effects;
  readonly #tokens: readonly Token[];
  readonly #endedAnywhere: EndedSessions | undefined;
  /** Ended before their time, by this process. */
  readonly #ended = new Set<string>();

  constructor(effects: Effects, tokens: readonly Token[], ended?: EndedSessions) {
    this.#effects = effects;
    this.#tokens = tokens;
    this.#endedAnywhere = ended;
  }

  /** Whose token it is. Takes as long for a wrong one, and looks at all of them. */
  holderOf(given: string): Token | undefined {
    let holder: Token | undefined;
    for (const one of this.#tokens) if (isSame(given, one.token)) holder = one;
    return holder;
  }

  /** A new session of a token's holder: what the cookie holds. */
  begin(holder: Token): string {
    const until = this.#effects.now().wallMs + SESSION_MS;
    const facts = [fingerprint(holder.token), String(until), randomBytes(12).toString('base64url')].join('.');
    return `${facts}.${sign(holder.token, facts)}`;
  }

  /** Whose session it is; nothing for one that is over, was ended, or is no session. */
  async find(session: string): Promise<Token | undefined> {
    const holder = this.#holder(session);
    return holder && ((await this.#endedAnywhere?.has(markOf(session))) ? undefined : holder);
  }

  #holder(session: string): Token | undefined {
    const [name = '', until = '', chance = '', signature = '', ...more] = session.split('.');
    if (more.length > 0 || !(Number(until) > this.#effects.now().wallMs) || this.#ended.has(session)) return undefined;
    const facts = `${name}.${until}.${chance}`;
    return this.#tokens.find(({ token }) => fingerprint(token) === name && isSame(signature, sign(token, facts)));
  }

  async end(session: string): Promise<void> {
    if (this.#holder(session) === undefined) return;
    if (this.#ended.size >= MOST_ENDED) this.#ended.delete(this.#ended.values().next().value ?? '');
    this.#ended.add(session);
    await this.#endedAnywhere?.end(markOf(session), new Date(Number(session.split('.')[1])));
  }
}

/** How long a cookie is kept, in seconds. */
export const SESSION_SECONDS: number = SESSION_MS / 1_000;

/** What a session is called where it is noted as ended: nobody can make a session of it. */
function markOf(session: string): string {
  return hmac(session, 'holdfast ended session');
}

/** What a token is called where it must not be seen. */
function fingerprint(token: string): string {
  return hmac(token, 'holdfast token').slice(0, 12);
}

function sign(token: string, facts: string): string {
  return hmac(token, `holdfast session ${facts}`);
}

/** A keyed digest, as text that a header can hold. */
export function hmac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** True for two equal texts, in a time that says nothing about where they differ or how long the second is. */
export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHmac('sha256', 'compare').update(text).digest();
}

/** A new secret. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
