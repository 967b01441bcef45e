import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import { findLink, type RedisLink } from './redis-client.ts';

/** A script with its name at the server, which is the digest of its text. */
export class Script {
  readonly text: string;
  /** There after `named`. */
  sha = '';
  #naming: Promise<void> | undefined;

  constructor(text: string) {
    this.text = text;
  }

  named(): Promise<void> {
    return (this.#naming ??= sha1(this.text).then((sha) => void (this.sha = sha)));
  }
}

/** Runs a script in one round trip, or in two when the server has forgotten it. */
export type RunScript = (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** Sets a key that is not there, in one round trip. Answers nothing, or the text that is there. Throws, or rejects. */
export type SetNew = (key: string, value: string, ttlMs: number) => Promise<string | undefined>;

/**
 * Sends through a client. Once a first answer has come, a client that has lost its connection rejects at once with
 * `REDIS_NOT_CONNECTED`: it would keep the call to itself and send it whenever it can, long after anybody waits for it.
 */
class Sender {
  readonly #link: RedisLink;
  readonly setNew: SetNew | undefined;
  #wasReady = false;

  constructor(link: RedisLink) {
    this.#link = link;
    const { setNew } = link;
    this.setNew =
      setNew &&
      ((key, value, ttlMs) => {
        this.#mustBeReady();
        return setNew(key, value, ttlMs).then(this.#found);
      });
  }

  readonly #found = (found: unknown): string | undefined => {
    this.#wasReady = true;
    return found === null ? undefined : textOf(found as string);
  };

  readonly run: RunScript = async (script, keys, args) => {
    if (script.sha === '') await script.named();
    this.#mustBeReady();
    let answer: unknown;
    try {
      answer = await this.#link.evalSha(script.sha, keys, args);
    } catch (error) {
      if (!isNoScript(error)) throw error;
      answer = await this.#link.eval(script.text, keys, args);
    }
    this.#wasReady = true;
    return answer;
  };

  #mustBeReady(): void {
    if (this.#wasReady && !this.#link.isReady()) throw new HoldfastError('REDIS_NOT_CONNECTED', {});
  }
}

/** One text or number as a script answers it, whatever a client makes of it: it may be bytes. */
export function textOf(answer: string | number | Uint8Array): string {
  return String(answer);
}

/** A list as a script answers it, whatever a client makes of its numbers and texts. */
export function texts(answer: unknown): readonly string[] {
  return (answer as readonly unknown[]).map(String);
}

/** The options every function here takes, checked. */
export function openRunner(
  of: string,
  options: { readonly client: unknown; readonly prefix?: string | undefined },
): { readonly run: RunScript; readonly setNew: SetNew | undefined; readonly prefix: string } {
  const check = new OptionCheck(of);
  if (!check.object('options', options, 'pass { client }')) check.done();
  check.known(options, ['client', 'prefix']);
  const { client, prefix = 'holdfast:' } = options;
  const link = findLink(client);
  if (link === undefined) check.refuse('client', client, 'pass a client of ioredis, node-redis or @upstash/redis');
  // A brace would end up in front of ours, and say to a cluster where the key lies.
  if (typeof prefix !== 'string' || /[{}]/.test(prefix)) check.refuse('prefix', prefix, 'pass a text without braces');
  check.done();
  const { run, setNew } = new Sender(link as RedisLink);
  return { run, setNew, prefix };
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
