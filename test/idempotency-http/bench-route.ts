import { onTestFinished } from 'vitest';
import {
  type Idempotency,
  idempotency,
  type IdempotencyStore,
  memoryIdempotency,
} from '../../src/idempotency/index.ts';
import type { Adapter, CommonOptions, Handle, Reply } from './adapters.ts';

/** Holds a handler until it is opened. */
export class Door {
  readonly passed: Promise<void>;
  open!: () => void;
  constructor() {
    this.passed = new Promise((resolve) => (this.open = resolve));
  }
}

/** What a test has of it. */
export interface Bench {
  readonly url: string;
  readonly idem: Idempotency<never>;
  /** How often the handler ran. */
  count(): number;
}

/** A server with one guarded route, for the time of a test. */
export async function bench(
  adapter: Adapter,
  handle: (n: number, body: unknown) => Promise<Reply> | Reply,
  options: CommonOptions & { readonly store?: IdempotencyStore; readonly storeTimeoutMs?: number } = {},
): Promise<Bench> {
  const { store = memoryIdempotency(), storeTimeoutMs, ...route } = options;
  const idem = idempotency({ service: 'shop', store, storeTimeoutMs });
  let n = 0;
  const counted: Handle<never> = async ({ body }) => handle(++n, body);
  const server = await adapter.serve(idem, route, counted);
  onTestFinished(() => server.close());
  return { url: server.url, idem, count: () => n };
}
