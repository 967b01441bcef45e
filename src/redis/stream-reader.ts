import type { Effects } from '../kernel/effects.ts';
import type { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import { newId } from '../system/new-id.ts';
import type { BatchLimit } from '../transport/batch-limit.ts';
import type { ConsumeRequest, Consumption, InboundMessage } from '../transport/broker.ts';
import { within } from '../transport/within.ts';
import type { OwnConnection, RunCommand } from './redis-commands.ts';
import { fromFields } from './stream-entry.ts';
import { streamRefusal } from './stream-refusal.ts';
import { trimStream } from './trim-stream.ts';

/** What a reader works with. */
export interface StreamReaderOptions {
  readonly request: ConsumeRequest;
  readonly transport: string;
  readonly streams: readonly string[];
  /** Entries that all groups have acknowledged are taken away when they are this old. */
  readonly keepMs: number;
  /** How much is read at once. It outlives a reader: what was late makes the next one read less. */
  readonly limit: BatchLimit;
}

const AT_ONCE = 500;
/** How long one that is silent stays the reader of its streams. */
const HOLD_MS = 10_000;
const RENEW_MS = 3_000;
const LOOK_MS = 250;
const BLOCK_MS = 1_000;
/** How often it is looked whether a stream can be used that could not. */
const LOOK_AGAIN_MS = 2_000;
const TRIM_EVERY_MS = 60_000;
/** What is at hand and what was read ahead are fewer. */
const MOST_OPEN = 5_000;

/**
 * A sign of life that is older may have been overlooked: the stream could be another's before an answer to what is asked now is there.
 * A process that stood still finds that out by this.
 */
const DOUBT_MS = HOLD_MS - 2 * BLOCK_MS;
const NOT_HELD = 'NOTHELD';
// Not by one whose sign of life is gone, as all keys are after FLUSHALL: another may read by now, in a group that was made again.
const HELD = `if redis.call('GET', KEYS[2]) ~= ARGV[2] then return redis.error_reply('${NOT_HELD} the stream is not held any more') end
`;
// Entries are taken one by one, up to a number and a size: the commands know only a number, and 500 entries may be 500 MB.
const UP_TO = `${HELD}local out, size = {}, 0
local function take(entry)
  if not entry then return end
  out[#out + 1] = entry
  for _, text in ipairs(entry[2] or {}) do size = size + #text end
end
local function isFull() return #out >= tonumber(ARGV[3]) or size >= tonumber(ARGV[4]) end
`;
const TAKE_NEW = `${UP_TO}repeat
  local got = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', '1', 'STREAMS', KEYS[1], '>')
  if not got then break end
  take(got[1][2][1])
until isFull()
return out`;
const TAKE_LEFT = `${UP_TO}local cursor = '0-0'
repeat
  local got = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], '0', cursor, 'COUNT', '1')
  cursor = got[1]
  take(got[2][1])
until cursor == '0-0' or isFull()
return { cursor, out }`;
const ACKNOWLEDGE = `${HELD}return redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3))`;
/** In whose hand is what was read and not stored by readers that have stopped. */
const LEFT = 'holdfast-left';

// Who reads a stream for a group. Taken when it is free, and held by a sign of life. 1: it was free, 2: it was its own already.
const HOLD = `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return holder and 2 or 1`;
// What it still has in its hand is put down under a name that stays; its own can go, or the list of consumers would only grow. In one
// script: what comes between a look and the deletion of a consumer would be lost with it.
const LEAVE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
local open = redis.call('XPENDING', KEYS[2], ARGV[2], '-', '+', ARGV[4], ARGV[1])
for _, entry in ipairs(open) do redis.call('XCLAIM', KEYS[2], ARGV[2], ARGV[3], 0, entry[1], 'JUSTID') end
if #open < tonumber(ARGV[4]) then redis.call('XGROUP', 'DELCONSUMER', KEYS[2], ARGV[2], ARGV[1]) end
return #open`;

/** A stream that is held: whether it was taken what others left, and when a sign of life was last given. */
interface Held {
  isClaimed: boolean;
  aliveMs: number;
}

interface Found {
  readonly stream: string;
  /** What it was read under. Taken again, the stream may be another under the same name. */
  readonly held: Held | undefined;
  readonly id: string;
  readonly message: InboundMessage;
}

/**
 * Reads streams for a group. Of the readers of a group one at a time has a stream, so that the order holds; it first takes what others
 * had in their hands. One that was silent for too long may still store what it had read: that was stored already, and counts once.
 */
export class StreamReader implements Consumption {
  readonly #reading: OwnConnection;
  readonly #acting: OwnConnection;
  readonly #options: StreamReaderOptions;
  readonly #id = newId();
  readonly #effects: Effects = systemEffects;
  readonly #stopped = new AbortController();
  /** Streams that can be used, and those that cannot: another kind of key has the name, or it is closed to this user. */
  #open: readonly string[] = [];
  #refused: readonly string[];
  #lookedMs = Number.NEGATIVE_INFINITY;
  readonly #held = new Map<string, Held>();
  #running: Promise<void> | undefined;
  #renewed: Promise<void> = Promise.resolve();
  #trimmedMs = Number.NEGATIVE_INFINITY;

  /** `reading` is for commands that wait for entries, `acting` for all others. Both are closed with it. */
  constructor(reading: OwnConnection, acting: OwnConnection, options: StreamReaderOptions) {
    this.#reading = reading;
    this.#acting = acting;
    this.#options = options;
    this.#refused = options.streams;
  }

  /** Makes sure that the group is there, from the first entry on, and begins to read. Rejects where no stream can be used. */
  async start(): Promise<void> {
    const [refusal] = await this.#look();
    if (this.#open.length === 0 && refusal) throw refusal;
    this.#running = this.#run();
  }

  /** Makes sure of the group in streams that could not be used so far. Gives why some still cannot. */
  async #look(): Promise<readonly HoldfastError[]> {
    const { request, transport } = this.#options;
    const found: string[] = [];
    const refusals = new Map<string, HoldfastError>();
    for (const stream of this.#refused) {
      try {
        await this.#act('XGROUP', 'CREATE', stream, request.group, '0', 'MKSTREAM');
        found.push(stream);
      } catch (error) {
        const refusal = streamRefusal(transport, stream, error);
        if (refusal) refusals.set(stream, refusal);
        else if (String(error).includes('BUSYGROUP')) found.push(stream);
        else throw error;
      }
    }
    this.#refused = [...refusals.keys()];
    this.#open = [...this.#open, ...found];
    this.#lookedMs = this.#effects.monoMs();
    for (const stream of found) request.onPlace(stream, undefined);
    // Where none can be used, that is told by whoever asked.
    if (this.#open.length > 0) for (const [stream, refusal] of refusals) request.onPlace(stream, refusal);
    return [...refusals.values()];
  }

  /** Nobody waits for it to be silent: the next reader may begin at once. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#reading.close();
    await this.#running;
    await this.#renewed;
    await Promise.all([...this.#held.keys()].map((stream) => this.#leave(stream)));
    this.#held.clear();
    this.#acting.close();
  }

  async #run(): Promise<void> {
    this.#renewed = this.#renew();
    const sleep = createSleep(this.#effects);
    const { signal } = this.#stopped;
    let ahead: Promise<readonly Found[]> | undefined;
    try {
      while (!signal.aborted) {
        await this.#holdMore();
        const found = await (ahead ?? this.#next());
        ahead = found.length > 0 ? this.#readAhead() : undefined;
        if (found.length > 0) await this.#hand(found);
        else if (this.#held.size === 0) await sleep(LOOK_MS, signal);
        if (this.#held.size > 0) await this.#trim();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#stopped.abort();
      this.#options.request.onLost(error);
    }
  }

  /** Takes streams that nobody reads, and makes sure of those of which it cannot be sure any more. */
  async #holdMore(): Promise<void> {
    if (this.#refused.length > 0 && this.#effects.monoMs() - this.#lookedMs >= LOOK_AGAIN_MS) await this.#look();
    const nowMs = this.#effects.monoMs();
    for (const stream of this.#open) {
      const held = this.#held.get(stream);
      if (!held || nowMs - held.aliveMs > DOUBT_MS) await this.#hold(stream);
    }
  }

  #isInDoubt(): boolean {
    const nowMs = this.#effects.monoMs();
    return [...this.#held.values()].some(({ aliveMs }) => nowMs - aliveMs > DOUBT_MS);
  }

  /**
   * What comes next is read while what is at hand is stored. Not before everything that others left was taken: as long as what is at
   * hand is not acknowledged, it would be found there again. Should it come to be another's meanwhile, then both have it, in the same
   * order and behind what is at hand, and it counts once.
   */
  #readAhead(): Promise<readonly Found[]> | undefined {
    for (const { isClaimed } of this.#held.values()) if (!isClaimed) return undefined;
    const ahead = this.#readNew();
    // Its failure is told when it is its turn.
    ahead.catch(() => undefined);
    return ahead;
  }

  /** What others had in their hands comes first: it is older. */
  async #next(): Promise<readonly Found[]> {
    for (const [stream, state] of this.#held) {
      if (state.isClaimed) continue;
      const taken = await this.#takeFrom(stream, TAKE_LEFT, this.#options.limit.bytes);
      if (taken === undefined) continue;
      const [next, entries] = taken as [string, Entries];
      const found = this.#foundOf(stream, entries);
      if (next === '0-0') state.isClaimed = true;
      if (found.length > 0) return found;
    }
    return this.#readNew();
  }

  /** Nothing while it is in doubt whether they are its own: another could have older entries in its hand. */
  async #readNew(): Promise<readonly Found[]> {
    const streams = [...this.#held.keys()];
    if (streams.length === 0 || this.#isInDoubt()) return [];
    const bytes = Math.ceil(this.#options.limit.bytes / streams.length);
    const taken = await Promise.all(
      streams.map(async (stream) =>
        this.#foundOf(stream, ((await this.#takeFrom(stream, TAKE_NEW, bytes)) ?? []) as Entries),
      ),
    );
    const found = taken.flat();
    return found.length > 0 || this.#isInDoubt() || streams.some((stream) => !this.#held.has(stream))
      ? found
      : this.#waitForNew(streams);
  }

  /**
   * Up to a number and a size of entries of a stream; nothing where it is not held any more. What is late has been given out all the same,
   * and is found with what others left.
   */
  #takeFrom(stream: string, script: string, bytes: number): Promise<unknown> {
    const { limit } = this.#options;
    const run = (...args: readonly string[]): Promise<unknown> =>
      limit.carry(() => within(this.#effects, this.#reading.run(...args)));
    return this.#whileHeld(run, script, stream, String(AT_ONCE), String(bytes));
  }

  async #whileHeld(run: RunCommand, script: string, stream: string, ...rest: readonly string[]): Promise<unknown> {
    const held = this.#held.get(stream);
    const parts = ['2', stream, this.#lockOf(stream), this.#options.request.group, this.#id, ...rest];
    try {
      return await run('EVAL', script, ...parts);
    } catch (error) {
      if (!String(error).includes(NOT_HELD)) throw error;
      if (this.#held.get(stream) === held) this.#held.delete(stream);
      return undefined;
    }
  }

  /** The first that comes: scripts cannot wait. */
  async #waitForNew(streams: readonly string[]): Promise<readonly Found[]> {
    const { group } = this.#options.request;
    const wait = ['COUNT', '1', 'BLOCK', String(BLOCK_MS), 'STREAMS'];
    const answer = await within(
      this.#effects,
      this.#reading.run('XREADGROUP', 'GROUP', group, this.#id, ...wait, ...streams, ...streams.map(() => '>')),
    );
    return streamsOf(answer).flatMap(([stream, entries]) => this.#foundOf(stream, entries));
  }

  async #hand(found: readonly Found[]): Promise<void> {
    const { request } = this.#options;
    await request.onBatch(found.map(({ message }) => message));
    for (const [held, ofHeld] of Map.groupBy(found, (one) => one.held)) {
      const [first] = ofHeld;
      // It was lost meanwhile: what is not acknowledged comes again, to whoever has it now.
      if (!first || !held || this.#held.get(first.stream) !== held) continue;
      const act = (...args: readonly string[]): Promise<unknown> => this.#act(...args);
      await this.#whileHeld(act, ACKNOWLEDGE, first.stream, ...ofHeld.map(({ id }) => id));
    }
  }

  /** An entry that was taken away while it was in somebody's hand has no fields any more. */
  #foundOf(stream: string, entries: Entries): readonly Found[] {
    const held = this.#held.get(stream);
    return entries.flatMap((entry) => {
      if (!entry?.[1]) return [];
      const [id, fields] = entry;
      return [{ stream, held, id, message: fromFields(`redis:${stream}@${id}`, flat(fields)) }];
    });
  }

  async #trim(): Promise<void> {
    const nowMs = this.#effects.monoMs();
    if (nowMs - this.#trimmedMs < TRIM_EVERY_MS) return;
    this.#trimmedMs = nowMs;
    for (const stream of this.#held.keys())
      await trimStream((...args) => this.#act(...args), stream, this.#options.keepMs);
  }

  /** Says every few seconds that it lives, also while a batch takes its time. */
  async #renew(): Promise<void> {
    const sleep = createSleep(this.#effects);
    const { signal } = this.#stopped;
    try {
      for (;;) {
        await sleep(RENEW_MS, signal);
        for (const stream of this.#held.keys()) await this.#hold(stream);
      }
    } catch {
      // It was stopped, or Redis is away: then reading fails too, and says so.
    }
  }

  /** Gives a sign of life for a stream, or takes it where it is free. */
  async #hold(stream: string): Promise<void> {
    const aliveMs = this.#effects.monoMs();
    const answer = Number(await this.#act('EVAL', HOLD, '1', this.#lockOf(stream), this.#id, String(HOLD_MS)));
    const held = this.#held.get(stream);
    if (answer === 0) this.#held.delete(stream);
    else if (held && answer === 2) held.aliveMs = aliveMs;
    // It was free, also where it had been its own: another may have had it in between, and may have left something.
    else this.#held.set(stream, { isClaimed: false, aliveMs });
  }

  async #leave(stream: string): Promise<void> {
    const { group } = this.#options.request;
    const parts = ['2', this.#lockOf(stream), stream, this.#id, group, LEFT, String(MOST_OPEN)];
    await this.#act('EVAL', LEAVE, ...parts).catch(() => undefined);
  }

  /** In the slot of its stream, where there is a cluster. */
  #lockOf(stream: string): string {
    return `${stream.includes('{') ? stream : `{${stream}}`}:reader:${this.#options.request.group}`;
  }

  #act(...args: readonly string[]): Promise<unknown> {
    return within(this.#effects, this.#acting.run(...args));
  }
}

type Entries = readonly (readonly [id: string, fields: readonly string[]] | null)[];

/** RESP2 gives a list of pairs; of RESP3's map clients make a map, an object, or a list of names and values in turns. */
function streamsOf(answer: unknown): readonly (readonly [stream: string, entries: Entries])[] {
  if (answer === null || answer === undefined) return [];
  if (Array.isArray(answer)) {
    if (Array.isArray(answer[0])) return answer as [string, Entries][];
    return answer.flatMap((name, at) => (at % 2 === 0 ? [[String(name), answer[at + 1] as Entries] as const] : []));
  }
  const pairs = answer instanceof Map ? [...answer.entries()] : Object.entries(answer);
  return pairs as [string, Entries][];
}

function flat(fields: unknown): readonly string[] {
  if (Array.isArray(fields)) return typeof fields[0] === 'string' ? fields : fields.map(String);
  const pairs = fields instanceof Map ? [...fields.entries()] : Object.entries(fields ?? {});
  return pairs.flat().map(String);
}
