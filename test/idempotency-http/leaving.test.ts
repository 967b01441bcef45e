import { describe, expect, onTestFinished, test } from 'vitest';
import { idempotency, type IdempotencyEvent, memoryIdempotency } from '../../src/idempotency/index.ts';
import { type Adapter, ADAPTERS, type Reply } from './adapters.ts';
import { type Answered, call } from './call.ts';
import { LeavingClient } from './leaving-client.ts';
import { Pauses, type Step } from './pauses.ts';
import { streamOf, STREAMS, type StreamKind } from './streams.ts';

/** Where a client leaves; `never` is the one that stays, whose outcome all others must find. */
const LEAVES = ['never', 'auth', 'claim', 'handler', 'reply', 'end'] as const satisfies readonly (Step | 'never')[];
type Leave = (typeof LEAVES)[number];

const FIRST = 'line 1\n';
// More than a connection takes whose client reads no more, and letters of one to four bytes.
const REST = [`${'x'.repeat(300_000)}\n`, 'ü€😀\n', 'the end'];
const WHOLE = [FIRST, ...REST].join('');
const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

type At = (step: Step) => Promise<void>;

async function* lines(at: At): AsyncGenerator<string> {
  yield FIRST;
  await at('reply');
  yield* REST;
}

/** Breaks off before its first byte, or after it. */
async function* broken(at: At, isBegun: boolean): AsyncGenerator<string> {
  if (isBegun) yield FIRST;
  await at('reply');
  throw new Error('the source broke');
}

/** What handlers answer, and what a repetition gets, whenever the client left. */
interface Case {
  readonly reply: (at: At) => Promise<Reply> | Reply;
  readonly again: string;
}

const PLAIN: Readonly<Record<string, Case>> = {
  'one text': {
    reply: () => ({ status: 201, headers: TEXT, body: WHOLE }),
    again: `201 replayed ${Buffer.byteLength(WHOLE)}`,
  },
  bytes: { reply: () => ({ headers: TEXT, body: Buffer.alloc(5_000, 7) }), again: '200 replayed 5000' },
  'no content': { reply: () => ({ status: 204 }), again: '204 replayed 0' },
  'not modified': { reply: () => ({ status: 304, headers: { etag: '"1"' } }), again: '304 replayed 0' },
  'more than is kept': { reply: () => ({ headers: TEXT, body: 'x'.repeat(600_000) }), again: '410 reply-not-kept' },
  'an error of the client': { reply: () => ({ status: 404, headers: TEXT, body: 'no' }), again: '404 replayed 2' },
  'a handler that throws': {
    reply: () => {
      throw new Error('boom');
    },
    again: '500 ',
  },
};

interface Shop {
  readonly url: string;
  readonly client: LeavingClient;
  readonly pauses: Pauses;
  readonly effects: Map<string, number>;
  readonly events: IdempotencyEvent[];
  /** What clients that stayed got at first. */
  readonly firsts: Map<string, string>;
}

async function shop(adapter: Adapter, reply: (name: string, at: At) => Promise<Reply> | Reply): Promise<Shop> {
  const pauses = new Pauses('shop');
  const events: IdempotencyEvent[] = [];
  const effects = new Map<string, number>();
  const store = pauses.store(memoryIdempotency());
  const observers = [(event: IdempotencyEvent) => events.push(event)];
  // A claim that took too long would be taken back, whoever waits for it.
  const idem = idempotency({ service: 'shop', store, observers, storeTimeoutMs: 60_000 });
  const server = await adapter.serve<never>(
    idem,
    { maxReplyBytes: 500_000 },
    async ({ body }) => {
      const { name } = body as { name: string };
      effects.set(name, (effects.get(name) ?? 0) + 1);
      const at: At = async (step) => pauses.at(step, name);
      await at('handler');
      return reply(name, at);
    },
    async (name) => pauses.at('auth', name),
  );
  onTestFinished(() => server.close());
  return { url: server.url, client: new LeavingClient(server.server), pauses, effects, events, firsts: new Map() };
}

function outcomeOf({ status, problem, isReplay, bytes }: Answered): string {
  return problem === undefined ? `${status} ${isReplay ? 'replayed' : 'made'} ${bytes.length}` : `${status} ${problem}`;
}

function keyOf(name: string): string {
  return name.replaceAll(/\W+/g, '-');
}

/** One order whose first client leaves there: what the next one gets, and how often it took effect. */
async function order(at: Shop, name: string, leave: Leave): Promise<readonly [again: string, effects: number]> {
  const { url, client, pauses, effects, firsts } = at;
  const key = keyOf(name);
  const headers = { 'idempotency-key': key, 'x-person': name };
  const stop = leave === 'never' ? undefined : pauses.hold(leave, name);
  if (stop === undefined) {
    const first = call(url, 'x', { key, headers, body: { name } });
    firsts.set(name, await first.then(outcomeOf, () => 'cut'));
  } else {
    const sent = client.send(`${url}/do/x`, headers, JSON.stringify({ name }));
    await stop.reached;
    await sent.leave();
    stop.go();
  }
  let again = '';
  const isOver = async (): Promise<boolean> => {
    again = outcomeOf(await call(url, 'x', { key, headers, body: { name } }));
    return !again.includes('in-flight');
  };
  await expect.poll(isOver).toBe(true);
  return [again, effects.get(name) ?? 0];
}

/**
 * What can break, where that is not all: the error of a stream that is merely piped ends the process, what is written by hand and given up
 * ends when it is quiet, and the helpers of Hono end a stream that breaks as one that is whole.
 */
const BREAKING: Readonly<Record<string, readonly StreamKind[]>> = {
  Express: ['pipeline'],
  'Nest on Express': ['pipeline'],
  Hono: ['web bytes', 'web texts', 'a Response'],
};

/** All cases, each with a client that stays and clients that leave everywhere, at once. */
async function outcomes(at: Shop, names: readonly string[], leaves: readonly Leave[] = LEAVES): Promise<object> {
  const met = names.flatMap((name) =>
    leaves.map(async (leave) => [name, leave, await order(at, `${name}, ${leave}`, leave)] as const),
  );
  const found = await Promise.all(met);
  return Object.fromEntries(found.map(([name, leave, outcome]) => [`${name}, left: ${leave}`, outcome]));
}

function everywhere(
  names: readonly string[],
  again: (name: string) => unknown,
  leaves: readonly Leave[] = LEAVES,
): object {
  return Object.fromEntries(
    names.flatMap((name) => leaves.map((leave) => [`${name}, left: ${leave}`, [again(name), 1]])),
  );
}

describe.each(ADAPTERS)('$name and clients that leave', (adapter) => {
  test(`${adapter.name}: wherever its client leaves, before the guard too, the next gets what one that stayed would have got [X.15]`, async () => {
    const at = await shop(adapter, (name, paused) => (PLAIN[name.split(',')[0] ?? ''] as Case).reply(paused));
    const names = Object.keys(PLAIN);
    const leaves = LEAVES.filter((leave) => leave !== 'reply');
    const again = (name: string): unknown => expect.stringMatching(`^${PLAIN[name]?.again}`);
    expect(await outcomes(at, names, leaves)).toEqual(everywhere(names, again, leaves));
  });

  test(`${adapter.name}: a stream of any kind is made to its end, wherever its client leaves [X.15]`, async () => {
    const at = await shop(adapter, (name, paused) => ({
      headers: TEXT,
      stream: streamOf(name.split(',')[0] as StreamKind, lines(paused)),
    }));
    const names = STREAMS.filter((kind) => adapter.streams.includes(kind));
    const size = Buffer.byteLength(WHOLE);
    expect(await outcomes(at, names)).toEqual(everywhere(names, () => `200 replayed ${size}`));
    expect(at.firsts).toEqual(new Map(names.map((kind) => [`${kind}, never`, `200 made ${size}`])));
    const headers = { 'x-person': `${names[0]}, auth` };
    const { text } = await call(at.url, 'x', {
      key: keyOf(`${names[0]}, auth`),
      headers,
      body: { name: `${names[0]}, auth` },
    });
    expect(text).toBe(WHOLE);
  });

  test.each([false, true])(
    `${adapter.name}: a stream that breaks, begun or not (%s), ends its run at once, and leaving changes nothing [X.15]`,
    async (isBegun) => {
      const given = BREAKING[adapter.name] ?? adapter.streams.filter((kind) => kind !== 'writes');
      const names = STREAMS.filter((kind) => given.includes(kind));
      const at = await shop(adapter, (name, paused) => ({
        headers: TEXT,
        stream: streamOf(name.split(',')[0] as StreamKind, broken(paused, isBegun)),
      }));
      const found = await outcomes(at, names);
      const stayed = Object.fromEntries(
        names.map((name) => [name, (found as Record<string, unknown[]>)[`${name}, left: never`]?.[0]]),
      );
      for (const again of Object.values(stayed)) expect(again).toMatch(/^500 replayed|^409 unknown-outcome/);
      expect(found).toEqual(everywhere(names, (name) => stayed[name]));
    },
  );
});
