import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { Handle, HandlingHandler, PublishingHandler } from '../relay/handler.ts';
import { createClassifier } from '../retry/classifier.ts';
import { policy } from '../retry/policy.ts';
import type { DeadLetter } from '../relay/relay-store.ts';
import { BatchLimit, batchOf } from './batch-limit.ts';
import type { Broker, PublishResult } from './broker.ts';
import { fromWire, toDeadWire } from './cloud-event.ts';
import { Consumer } from './consumer.ts';
import { publisher } from './publisher.ts';
import { isRefusedPlace } from './refused-place.ts';
import { readAllTypes } from './read-all-types.ts';
import { publishedAs } from './taken-as.ts';
import type { Transport, TransportHost } from './transport.ts';
import { within } from './within.ts';
import { inboundOf, keptAs, KEPT_TYPES, type KeptMessage } from './kept-message.ts';

// A message the broker refuses is tried for about a minute. That the broker is away counts for nothing.
const REFUSED = policy({ maxAttempts: 7, baseDelayMs: 250, maxDelayMs: 30_000, timeoutMs: Infinity });
// Topics and rights are put right by people, in their time. There may be very many messages that wait for one: so each looks rarely.
const MISPLACED = policy({
  baseDelayMs: 250,
  maxDelayMs: 300_000,
  maxElapsedMs: 86_400_000,
  timeoutMs: Infinity,
  clock: 'wall',
});
const classifier = createClassifier({ unknown: 'retry' });
const RULES = { policy: REFUSED, classifier, timeoutMs: Infinity, onDead: 'block', repeatable: false } as const;
const NAME = /^[a-z0-9][a-z0-9-]{0,49}$/;

/** Makes a transport of a broker: what leaves a service is published there, and what is there comes to its handlers, each once. */
export function transportOf(broker: Broker): Transport {
  const check = new OptionCheck('transportOf()');
  if (typeof broker.name !== 'string' || !NAME.test(broker.name))
    check.refuse('name', broker.name, 'write lower case letters, digits and -, at most 50');
  check.done();
  return {
    name: broker.name,
    load: async () => broker.load?.(),
    handlers: <Tx>(host: TransportHost) => ({
      to: { handler: publishing(broker, host), takenAs: publishedAs(host.service, broker.name) },
      from: {
        handler: readingAgain<Tx>(broker, host),
        takenAs: keptAs(host.service, broker.name),
      },
    }),
    copyDead: copying(broker),
    receive: (host, { isDead }) => new Consumer({ ...host, broker, classifier, isDead }),
    close: () => broker.close(),
  };
}

/** Copies dead letters, as many at once as may travel together. Where the broker goes away in between, the first of them are done. */
function copying(broker: Broker): Transport['copyDead'] {
  let limit: BatchLimit | undefined;
  return async ({ effects, service }, letters) => {
    const bounds = (limit ??= new BatchLimit(effects));
    const copies = letters.map((letter) => ({ letter, wire: toDeadWire(letter, service, broker.takesUntyped) }));
    const sent = copies.flatMap(({ letter, wire }) => (wire ? [{ letter, wire }] : []));
    const errors = new Map<DeadLetter, unknown>();
    for (let at = 0; at < sent.length;) {
      const { batch, size } = batchOf(sent.slice(at), bounds.bytes, ({ wire }) => wire.body.length);
      try {
        const publish = (): Promise<readonly PublishResult[]> =>
          within(effects, broker.publish(batch.map(({ wire }) => wire)));
        for (const [place, result] of (await bounds.carry(publish, size)).entries()) {
          const letter = batch[place]?.letter;
          if (letter && result.kind === 'failed') errors.set(letter, result.error);
        }
      } catch (error) {
        if (at === 0) throw error;
        for (const { letter } of sent.slice(at)) errors.set(letter, error);
        break;
      }
      at += batch.length;
    }
    const [error] = errors.values();
    return { done: letters.filter((letter) => !errors.has(letter)), error };
  };
}

function publishing(broker: Broker, { effects, tell }: TransportHost): PublishingHandler {
  return {
    ...RULES,
    kind: 'publish',
    name: `to-${broker.name}`,
    // What is published twice has one effect; an operator may send a message to the broker again.
    repeatable: true,
    policyOf: (error) => (isRefusedPlace(error) ? MISPLACED : undefined),
    // Two batches: one on its way while the next is read.
    concurrency: 2,
    takes: new Map(),
    publish: publisher(broker, effects, tell),
  };
}

/**
 * Messages that are kept as they were found. One that could not be read fails as it did before, until the code can read it. One of a
 * broker's dead letters fails until an operator replays it: then it goes to its handlers.
 */
function readingAgain<Tx>(broker: Broker, host: TransportHost): HandlingHandler<Tx> {
  const run: Handle<unknown, Tx> = async (given, { type, replays }) => {
    const kept = given as KeptMessage;
    const { sourceId, problem } = kept;
    if (type === 'holdfast.imported' && replays === 0)
      throw new HoldfastError('MESSAGE_IMPORTED', { sourceId, problem });
    const inbound = inboundOf(kept);
    const message = await readAllTypes(host, (takenAs) => fromWire(inbound, { takenAs, decode: broker.decode }));
    if (message) await host.receive([message]);
  };
  const takes = new Map(KEPT_TYPES.map((type) => [type as string, { event: { type, schema: undefined }, run }]));
  return { ...RULES, kind: 'handle', name: `from-${broker.name}`, concurrency: 1, takes };
}
