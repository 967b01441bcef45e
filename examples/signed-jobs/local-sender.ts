import { createHash, createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expression } from 'holdfast';

/** What the sender takes. */
export interface LocalSenderOptions {
  readonly token: string;
  readonly currentKey: string;
  readonly nextKey: string;
  /** How many times shorter than real the waits are. */
  readonly speed: number;
}

/** One delivery, as the sender saw it. */
export interface Attempt {
  readonly messageId: string;
  readonly url: string;
  readonly retried: number;
  /** 0: nobody answered. */
  readonly status: number;
}

interface Message {
  readonly messageId: string;
  readonly url: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly retries: number;
  readonly delayMs: (retried: number) => number;
  readonly forwarded: Readonly<Record<string, string>>;
}

const ANSWER_WITHIN_MS = 30_000;
const LONGEST_WAIT_MS = 86_400_000;

/**
 * Sends published jobs the way QStash does, for trying things out on one machine: it signs each attempt anew, tries again after the
 * delay that the publisher asked for or the receiver named, drops what has the deduplication id of an earlier message, and puts what
 * was answered with 489, or failed too often, among the dead letters. It forgets everything when it ends.
 */
export class LocalSender {
  readonly attempts: Attempt[] = [];
  readonly deadLetters: Attempt[] = [];
  readonly #options: LocalSenderOptions;
  readonly #server: Server;
  readonly #byDedupId = new Map<string, string>();
  readonly #messages = new Map<string, Message>();
  readonly #under: Set<Promise<void>> = new Set();
  #key: string;

  constructor(options: LocalSenderOptions) {
    this.#options = options;
    this.#key = options.currentKey;
    this.#server = createServer((request, response) => {
      this.#publish(request).then(
        ({ status, value }) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value)),
        () => response.writeHead(500).end(),
      );
    });
  }

  /** Listens on this machine, on any free port; answers the base URL for `publishJob`. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on it signs with the next key, as after a rotation: receivers that know both notice nothing. */
  rotateKeys(): void {
    this.#key = this.#options.nextKey;
  }

  /** Delivers a message once more, as happens when its answer was lost. */
  async deliverAgain(messageId: string): Promise<number> {
    const message = this.#messages.get(messageId);
    return message === undefined ? 0 : (await this.#deliver(message, 1)).status;
  }

  /** When everything that was published is delivered or dead. */
  async idle(): Promise<void> {
    while (this.#under.size > 0) await Promise.all(this.#under);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #publish(request: IncomingMessage): Promise<{ readonly status: number; readonly value: object }> {
    const { headers, url: path = '' } = request;
    if (headers.authorization !== `Bearer ${this.#options.token}`)
      return { status: 401, value: { error: 'unauthorized' } };
    const dedupId = text(headers['upstash-deduplication-id']);
    const known = dedupId === undefined ? undefined : this.#byDedupId.get(dedupId);
    if (known !== undefined) return { status: 202, value: { messageId: known, deduplicated: true } };
    const messageId = `msg_${randomUUID()}`;
    if (dedupId !== undefined) this.#byDedupId.set(dedupId, messageId);
    const delay = expression(text(headers['upstash-retry-delay']) ?? '12000 * pow(2, retried)');
    const message: Message = {
      messageId,
      url: path.replace(/^\/v2\/publish\//, ''),
      body: new Uint8Array(Buffer.concat(await request.toArray())),
      retries: Number(text(headers['upstash-retries']) ?? 3),
      delayMs: (retried) => delay.delayMs(retried, { random: 1, lastDelayMs: 0 }) ?? LONGEST_WAIT_MS,
      forwarded: forwardedOf(headers),
    };
    this.#messages.set(messageId, message);
    const sending = this.#send(message).finally(() => this.#under.delete(sending));
    this.#under.add(sending);
    return { status: 201, value: { messageId } };
  }

  async #send(message: Message): Promise<void> {
    for (let retried = 0; ; retried++) {
      const { status, isFinal, retryAfterMs } = await this.#deliver(message, retried);
      if (status >= 200 && status < 300) return;
      if (isFinal || retried === message.retries) {
        this.deadLetters.push({ messageId: message.messageId, url: message.url, retried, status });
        return;
      }
      await sleep((retryAfterMs ?? message.delayMs(retried)) / this.#options.speed);
    }
  }

  async #deliver(
    { messageId, url, body, forwarded }: Message,
    retried: number,
  ): Promise<{ readonly status: number; readonly isFinal: boolean; readonly retryAfterMs: number | undefined }> {
    const headers = {
      'user-agent': 'local-sender',
      'content-type': 'application/json',
      ...forwarded,
      'upstash-message-id': messageId,
      'upstash-retried': String(retried),
      'upstash-signature': signature(this.#key, url, body),
    };
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' }).catch(
      () => undefined,
    );
    await answer?.arrayBuffer().catch(() => undefined);
    const status = answer?.status ?? 0;
    this.attempts.push({ messageId, url, retried, status });
    const seconds = Number(answer?.headers.get('retry-after') ?? Number.NaN);
    return {
      status,
      isFinal: status === 489 && answer?.headers.get('upstash-nonretryable-error') === 'true',
      retryAfterMs: seconds >= 0 && seconds * 1_000 <= LONGEST_WAIT_MS ? seconds * 1_000 : undefined,
    };
  }
}

/** A token for one attempt, good for five minutes. */
function signature(key: string, url: string, body: Uint8Array): string {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: 'Upstash',
    sub: url,
    iat: now,
    nbf: now,
    exp: now + 300,
    jti: `jwt_${randomUUID()}`,
    body: createHash('sha256').update(body).digest('base64url'),
  };
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

/** `Upstash-Forward-X` arrives as `X`. */
function forwardedOf(headers: IncomingMessage['headers']): Record<string, string> {
  const prefix = 'upstash-forward-';
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), text(value) ?? '']),
  );
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
