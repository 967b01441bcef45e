import { AssertionError } from 'node:assert';
import { inOneLine, mismatch, type PayloadMatch } from './match-payload.ts';
import { listSent, type SentDelivery, type SentMessage, type SentPlace } from './sent-place.ts';

/** The kind of message that is looked for: what `event()` gives. */
interface KindOf<Input> {
  readonly type: string;
  readonly key: ((payload: Input) => string) | undefined;
}

/** What `assertSent` takes besides. */
export interface AssertSentOptions {
  /** How many must fit. Default: at least one. */
  readonly count?: number | undefined;
}

/** What `assertDelivered` takes besides. */
export interface AssertDeliveredOptions extends AssertSentOptions {
  /** By this handler. Default: by every handler that has it. */
  readonly handler?: string | undefined;
}

/** What `assertDead` takes besides. */
export interface AssertDeadOptions extends AssertDeliveredOptions {
  /** The code of the error it died of. Default: any. */
  readonly code?: string | undefined;
}

/** Messages of this kind and payload were sent, and are committed or of the transaction that is passed. Gives them. */
export async function assertSent<Input>(
  place: SentPlace,
  event: KindOf<Input>,
  payload?: PayloadMatch<Input>,
  options: AssertSentOptions = {},
): Promise<readonly SentMessage[]> {
  return judged(await listSent(place), event, payload, options.count, { verb: 'sent', fits: () => undefined });
}

/** Nothing of this kind was sent; without a kind, nothing at all. */
export async function assertNothingSent<Input>(
  place: SentPlace,
  event?: KindOf<Input>,
  payload?: PayloadMatch<Input>,
): Promise<void> {
  const found = (await listSent(place)).filter(
    (message) =>
      event === undefined ||
      (message.type === event.type && (payload === undefined || mismatch(message.payload, payload) === undefined)),
  );
  if (found.length === 0) return;
  const wanted = event === undefined ? 'nothing' : `no ${wantedText(event, payload)}`;
  fail(`expected ${wanted} to be sent, but found ${found.length}:${listed(found)}`, found.map(shape), []);
}

/** Messages of this kind and payload were handled well, by the handler that is named or by all that have them. Gives them. */
export async function assertDelivered<Input>(
  place: SentPlace,
  event: KindOf<Input>,
  payload?: PayloadMatch<Input>,
  options: AssertDeliveredOptions = {},
): Promise<readonly SentMessage[]> {
  return judged(await listSent(place), event, payload, options.count, {
    verb: 'delivered',
    fits: (message) => everyDelivery(message, options.handler, undelivered),
  });
}

/** Messages of this kind and payload are dead letters, of an error with this code. Gives them. */
export async function assertDead<Input>(
  place: SentPlace,
  event: KindOf<Input>,
  payload?: PayloadMatch<Input>,
  options: AssertDeadOptions = {},
): Promise<readonly SentMessage[]> {
  const { code, handler } = options;
  const isDead = (delivery: SentDelivery): string | undefined => {
    if (delivery.status !== 'failed') return `${nameOf(delivery)} has it ${statusText(delivery)}`;
    const found = delivery.error?.code;
    return code === undefined || found === code
      ? undefined
      : `${nameOf(delivery)} failed with ${found ?? delivery.error?.name ?? 'no code'}, not ${code}`;
  };
  return judged(await listSent(place), event, payload, options.count, {
    verb: 'a dead letter',
    fits: (message) => someDelivery(message, handler, isDead),
  });
}

/** What was handled of this key is exactly this, in this order. */
export async function assertOrder<Input>(
  place: SentPlace,
  key: string,
  payloads: readonly PayloadMatch<Input>[],
  options: { readonly handler?: string | undefined } = {},
): Promise<void> {
  const found = (await listSent(place))
    .filter((message) => message.key === key)
    .flatMap(({ payload, deliveries }) =>
      deliveries
        .filter(({ status, handler }) => status === 'delivered' && handler === (options.handler ?? handler))
        .map(({ ended = 0, handler }) => ({ payload, ended, handler })),
    )
    .sort((a, b) => a.ended - b.ended);
  const handlers = new Set(found.map(({ handler }) => handler));
  if (handlers.size > 1) {
    fail(
      `${inOneLine(key)} was handled by ${[...handlers].join(', ')}: name one of them, { handler }`,
      handlers.size,
      1,
    );
  }
  const actual = found.map(({ payload }) => payload);
  const problem = mismatch(actual, payloads, 'handled');
  if (problem !== undefined) {
    const lines = actual.map((payload, at) => `\n  ${at + 1}. ${inOneLine(payload)}`).join('');
    fail(
      `expected another order of key ${inOneLine(key)}: ${problem}. Handled were:${lines || ' none'}`,
      actual,
      payloads,
    );
  }
}

/** No two of these have the same name: what must happen once has left one row, one call, one mail. */
export function assertNoSecondEffect<Effect>(
  effects: Iterable<Effect>,
  nameOfEffect: (effect: Effect) => unknown,
): void {
  const seen = new Map<unknown, Effect[]>();
  for (const effect of effects) seen.set(nameOfEffect(effect), [...(seen.get(nameOfEffect(effect)) ?? []), effect]);
  const twice = [...seen].filter(([, same]) => same.length > 1);
  if (twice.length === 0) return;
  const lines = twice.map(([name, same]) => `\n  ${inOneLine(name)}: ${same.map(inOneLine).join(', ')}`);
  const actual = Object.fromEntries(twice.map(([name, same]) => [String(name), same.length]));
  const expected = Object.fromEntries(twice.map(([name]) => [String(name), 1]));
  fail(`expected each effect once, but ${twice.length} happened more often:${lines.join('')}`, actual, expected);
}

/** What was sent while `work` ran, and is committed after it; and what `work` gave. */
export async function sentBy<T>(
  place: SentPlace,
  work: () => T,
): Promise<{ readonly value: Awaited<T>; readonly sent: readonly SentMessage[] }> {
  const before = new Set((await listSent(place)).map(({ id }) => id));
  const value = await work();
  return { value, sent: (await listSent(place)).filter(({ id }) => !before.has(id)) };
}

interface Judgement {
  readonly verb: string;
  /** Why a message of the right payload is not meant; nothing when it is. */
  readonly fits: (message: SentMessage) => string | undefined;
}

function judged<Input>(
  all: readonly SentMessage[],
  event: KindOf<Input>,
  payload: PayloadMatch<Input> | undefined,
  count: number | undefined,
  { verb, fits }: Judgement,
): readonly SentMessage[] {
  const ofKind = all.filter(({ type }) => type === event.type);
  const problemOf = (message: SentMessage): string | undefined =>
    (payload === undefined ? undefined : mismatch(message.payload, payload)) ?? fits(message);
  const found = ofKind.filter((message) => problemOf(message) === undefined);
  if (count === undefined ? found.length > 0 : found.length === count) return found;
  const others = ofKind.length > 0 ? ofKind : all;
  const wanted = count === undefined ? 'at least once' : times(count);
  fail(
    `expected ${wantedText(event, payload)} to be ${verb} ${wanted}, but it was ${times(found.length)}.` +
      (all.length === 0 ? ' Nothing was sent at all.' : ` Sent were:${listed(others, problemOf, event.type)}`),
    others.map(shape),
    [{ type: event.type, ...(payload === undefined || typeof payload === 'function' ? {} : { payload }) }],
  );
}

function everyDelivery(
  { deliveries }: SentMessage,
  handler: string | undefined,
  problemOf: (delivery: SentDelivery) => string | undefined,
): string | undefined {
  const meant = deliveries.filter((delivery) => handler === undefined || delivery.handler === handler);
  if (meant.length === 0) return `${handler ?? 'nobody'} does not have it`;
  return meant.map(problemOf).find((problem) => problem !== undefined);
}

function someDelivery(
  { deliveries }: SentMessage,
  handler: string | undefined,
  problemOf: (delivery: SentDelivery) => string | undefined,
): string | undefined {
  const meant = deliveries.filter((delivery) => handler === undefined || delivery.handler === handler);
  if (meant.length === 0) return `${handler ?? 'nobody'} does not have it`;
  const problems = meant.map(problemOf);
  return problems.includes(undefined) ? undefined : problems[0];
}

function undelivered(delivery: SentDelivery): string | undefined {
  return delivery.status === 'delivered' ? undefined : `${nameOf(delivery)} has it ${statusText(delivery)}`;
}

function nameOf({ handler }: SentDelivery): string {
  return handler ?? 'nobody';
}

function statusText({ status, attempts, error }: SentDelivery): string {
  const last = error === undefined ? '' : `, last ${error.code ?? error.name}: ${error.message}`;
  return `${status}, tried ${times(attempts)}${last}`;
}

function wantedText<Input>(event: KindOf<Input>, payload: PayloadMatch<Input> | undefined): string {
  if (payload === undefined) return `"${event.type}"`;
  return `"${event.type}" with ${typeof payload === 'function' ? 'a payload that fits' : inOneLine(payload)}`;
}

function times(count: number): string {
  return ['never', 'once'][count] ?? `${count} times`;
}

const MOST_LISTED = 10;

function listed(
  messages: readonly SentMessage[],
  problemOf: (message: SentMessage) => string | undefined = () => undefined,
  type?: string,
): string {
  const lines = messages.slice(0, MOST_LISTED).map((message) => {
    const problem = type === undefined || message.type === type ? problemOf(message) : undefined;
    return `\n  ${message.type} ${inOneLine(message.payload)}${problem === undefined ? '' : ` (${problem})`}`;
  });
  const more = messages.length - MOST_LISTED;
  return lines.join('') + (more > 0 ? `\n  and ${more} more` : '');
}

function shape({ type, payload }: SentMessage): unknown {
  return { type, payload };
}

/** `actual` and `expected` are shown as a diff by node:test, vitest and jest. */
function fail(message: string, actual: unknown, expected: unknown): never {
  throw new AssertionError({ message, actual, expected, operator: 'holdfast', stackStartFn: fail });
}
