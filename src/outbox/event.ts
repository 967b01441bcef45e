import { OptionCheck } from '../kernel/check-options.ts';
import type { StandardSchema } from '../kernel/standard-schema.ts';
import { checkSealing, type Sealing } from './sealing.ts';

/** What `event` takes besides the type. Every field may be left out. */
export interface EventOptions<Input, Output> {
  /** Any Standard Schema validator (zod, valibot, arktype, …). What does not fit is refused at `send`, and final at a handler. */
  readonly schema?: StandardSchema<Output, Input> | undefined;
  /** Messages with the same key are handled one after the other, in the order they were committed. Default: no key. */
  readonly key?: ((payload: Input) => string) | undefined;
  /** What the message is about, for readers and foreign consumers. */
  readonly aggregate?: ((payload: Input) => { readonly type: string; readonly id: string }) | undefined;
  /**
   * `'strict'`: senders of one key queue behind each other until they commit, so that overlapping transactions have an
   * order too. Default `'commit'`: order of commits of sends that did not overlap.
   */
  readonly order?: 'commit' | 'strict' | undefined;
  /** Which version of its payload this code sends and takes, from 1. A message keeps the version it was sent in. Default 1. */
  readonly version?: number | undefined;
  /**
   * From each version before to the next: `{ 1: (old: OrderV1) => ({ ...old, currency: 'EUR' }) }`. Applied to messages of old versions
   * before the schema, one step after the other. Must not change anything else.
   */
  readonly upcast?: Readonly<Record<number, (payload: never) => unknown>> | undefined;
  /** Whom a message is about, so that everything about somebody can be erased. At most 150 characters. Default: nobody. */
  readonly person?: ((payload: Input) => string | undefined) | undefined;
  /** Seals its payloads, whatever the service does; `false`: they are not sealed. Default: as the service says. */
  readonly sealing?: Sealing | false | undefined;
}

/**
 * A kind of message: its type, and how its payload is checked and keyed. Made once, shared by senders and handlers. What a
 * sender passes (`Input`) is stored; what the schema makes of it (`Output`) is what a handler gets.
 */
export interface EventDefinition<Input, Output = Input> {
  readonly type: string;
  readonly schema: StandardSchema<Output, Input> | undefined;
  readonly key: ((payload: Input) => string) | undefined;
  readonly aggregate: ((payload: Input) => { readonly type: string; readonly id: string }) | undefined;
  readonly order: 'commit' | 'strict';
  readonly version: number;
  readonly upcast: Readonly<Record<number, (payload: never) => unknown>> | undefined;
  readonly person: ((payload: Input) => string | undefined) | undefined;
  readonly sealing: Sealing | false | undefined;
}

/** What a handler needs of a kind of message: every event definition fits. */
export interface HandledEvent<Output> {
  readonly type: string;
  readonly schema: StandardSchema<Output> | undefined;
  /** Default 1. */
  readonly version?: number | undefined;
  readonly upcast?: Readonly<Record<number, (payload: never) => unknown>> | undefined;
  readonly sealing?: Sealing | false | undefined;
}

/** Long enough for any name, short enough for every broker's topic and header. */
const TYPE = /^[a-z0-9][a-z0-9._:/-]{0,199}$/i;

const FIELDS: readonly (keyof EventOptions<unknown, unknown>)[] = [
  'schema',
  'key',
  'aggregate',
  'order',
  'version',
  'upcast',
  'person',
  'sealing',
];

/** Declares a kind of message: `event('order.placed', { schema: Order, key: (order) => order.orderId })`. */
export function event<Input = unknown, Output = Input>(
  type: string,
  options: EventOptions<Input, Output> = {},
): EventDefinition<Input, Output> {
  const check = new OptionCheck('event()');
  if (typeof type !== 'string' || !TYPE.test(type)) {
    check.refuse('type', type, "write letters, digits and . _ : / -, at most 200, for example 'order.placed'");
  }
  if (check.object('options', options, 'pass an object, or leave it out')) checkOptions(check, options);
  check.done();
  const { schema, key, aggregate, order = 'commit', version = 1, upcast, person, sealing } = options;
  if (order === 'strict' && key === undefined) {
    check.refuse('order', order, "give the event a key: 'strict' is an order within a key");
    check.done();
  }
  return Object.freeze({ type, schema, key, aggregate, order, version, upcast, person, sealing });
}

function checkOptions<Input, Output>(check: OptionCheck, options: EventOptions<Input, Output>): void {
  check.known(options, FIELDS);
  const { schema, order } = options;
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    check.refuse('schema', schema, 'pass a Standard Schema: zod, valibot and arktype schemas fit as they are');
  }
  for (const name of ['key', 'aggregate', 'person'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      check.refuse(name, options[name], 'pass a function of the payload');
    }
  }
  if (order !== undefined) check.word('order', order, ['commit', 'strict']);
  if (options.sealing !== undefined && options.sealing !== false) checkSealing(check, 'sealing', options.sealing);
  checkVersions(check, options);
}

const MOST_VERSIONS = 1_000;

function checkVersions<Input, Output>(
  check: OptionCheck,
  { version = 1, upcast }: Pick<EventOptions<Input, Output>, 'version' | 'upcast'>,
): void {
  const write = `write a whole number from 1 to ${MOST_VERSIONS}, or leave it out`;
  check.number('version', version, { min: 1, max: MOST_VERSIONS, integer: true, write });
  if (upcast === undefined || !check.object('upcast', upcast, 'pass { 1: (old) => … }')) return;
  for (const [from, step] of Object.entries(upcast)) {
    const isBefore = /^[1-9]\d*$/.test(from) && Number(from) < version;
    if (!isBefore) check.refuseName('upcast', from, `write versions before ${version}: the step of 1 leads to 2`);
    if (typeof step !== 'function') check.refuse(`upcast.${from}`, step, 'pass a function of the old payload');
  }
  // A gap would let messages of every version below it die, though steps for them were written.
  const first = Math.min(...Object.keys(upcast).map(Number));
  for (let from = first; from < version; from += 1) {
    if (!Object.hasOwn(upcast, from)) check.refuse(`upcast.${from}`, undefined, 'add the step from that version');
  }
}
