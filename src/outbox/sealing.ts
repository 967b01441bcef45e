import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { MIN_SECRET_LENGTH, open, seal } from '../system/sealed-text.ts';

/** Whose payload is sealed or opened. */
export interface SealAbout {
  /** Of the message. */
  readonly id: string;
  readonly type: string;
  /** As it was sent with. */
  readonly person: string | undefined;
}

/** A payload that is kept encrypted. */
export interface SealedPayload {
  /** Which key it takes to open it. It stands beside it, for everybody to read. */
  readonly keyId: string;
  readonly text: string;
}

/**
 * Encrypts payloads before they are stored, and decrypts them before a handler gets them. In between, in the database, at brokers, in
 * dead letters and histories, they are sealed. May be async, where a key is asked for elsewhere.
 *
 * What `open` throws is a failed attempt like any other: a key service that is away is tried again. Throw `PAYLOAD_NOT_OPENED` where
 * there is no such key: the message is a dead letter at once, to be replayed when the key is there.
 */
export interface Sealing {
  readonly seal: (payload: string, about: SealAbout) => SealedPayload | Promise<SealedPayload>;
  readonly open: (sealed: SealedPayload, about: SealAbout) => string | Promise<string>;
}

/** What `aesSealing` takes. */
export interface AesSealingOptions {
  /** The name of the key that seals. */
  readonly current: string;
  /** By name, secrets of at least 32 random characters: the current one, and all under which something may still be sealed. */
  readonly keys: Readonly<Record<string, string>>;
}

const KEY_ID = /^[\w.-]{1,100}$/;

/**
 * Seals by AES-256-GCM. A payload opens for its own message alone. To turn a key: add the new one to `keys` in all processes, then
 * make it `current`, and take the old one out when nothing is kept that long any more.
 */
export function aesSealing(options: AesSealingOptions): Sealing {
  const check = new OptionCheck('aesSealing()');
  if (check.object('options', options, "pass { current: '2026-11', keys: { '2026-11': secret } }")) {
    check.known(options, ['current', 'keys']);
    if (check.object('keys', options.keys, 'pass secrets by name')) {
      for (const [name, secret] of Object.entries(options.keys)) {
        if (!KEY_ID.test(name)) check.refuseName('keys', name, 'name keys by letters, digits and _ . -, at most 100');
        if (typeof secret !== 'string' || secret.length < MIN_SECRET_LENGTH)
          check.refuse(`keys.${name}`, secret, `write at least ${MIN_SECRET_LENGTH} random characters`);
      }
      if (!Object.hasOwn(options.keys, options.current))
        check.refuseName('current', options.current, 'write the name of one of keys');
    }
  }
  check.done();
  const { current, keys } = options;
  return {
    seal: async (payload, about) => ({ keyId: current, text: await seal(keys[current], payload, boundTo(about)) }),
    open: async ({ keyId, text }, about) => {
      const notOpened = (problem: string, cause?: unknown): never => {
        throw new HoldfastError('PAYLOAD_NOT_OPENED', { type: about.type, keyId, problem }, { cause });
      };
      if (!Object.hasOwn(keys, keyId)) return notOpened('there is no key of that name here');
      return open(keys[keyId], text, boundTo(about)).catch((error: unknown) =>
        isHoldfastError(error, 'SECRET_WRONG')
          ? notOpened('the key of that name here is another one')
          : notOpened('it was changed, or belongs to another message', error),
      );
    },
  };
}

function boundTo({ id, type }: SealAbout): string {
  return `${id} ${type}`;
}

/** Refuses what cannot seal or open. */
export function checkSealing(check: OptionCheck, name: string, sealing: unknown): void {
  const { seal: seals, open: opens } = (sealing ?? {}) as Partial<Sealing>;
  if (typeof seals !== 'function' || typeof opens !== 'function')
    check.refuse(name, sealing, 'pass { seal, open }, for example aesSealing({ current, keys })');
}
