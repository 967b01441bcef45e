import { OptionCheck } from '../kernel/check-options.ts';
import type { HandlingHandler, PublishingHandler } from '../relay/handler.ts';
import { createClassifier } from '../retry/classifier.ts';
import { policy } from '../retry/policy.ts';
import type { Broker } from './broker.ts';
import { fromWire, toDeadWire } from './cloud-event.ts';
import { Consumer } from './consumer.ts';
import { publisher } from './publisher.ts';
import { publishedAs, receivedAs } from './taken-as.ts';
import type { Transport, TransportHost } from './transport.ts';
import { within } from './within.ts';
import { inboundOf, UNREADABLE, type Unreadable } from './unreadable.ts';

// A message the broker refuses (too large, no such topic, no permission) is tried for about a minute: topics and rights are put right
// by people. That the broker is away counts for nothing.
const REFUSED = policy({ maxAttempts: 7, baseDelayMs: 250, maxDelayMs: 30_000, timeoutMs: Infinity });
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
    handlers: <Tx>(host: TransportHost) => ({
      to: { handler: publishing(broker, host), takenAs: publishedAs(host.service, broker.name) },
      from: {
        handler: readingAgain<Tx>(broker, host),
        takenAs: receivedAs(host.service, `${broker.name}/${UNREADABLE}`),
      },
    }),
    copyDead: async ({ effects }, letters) => {
      const copies = letters.map((letter) => ({ letter, wire: toDeadWire(letter) }));
      const sent = copies.flatMap(({ letter, wire }) => (wire ? [{ letter, wire }] : []));
      const results = sent.length > 0 ? await within(effects, broker.publish(sent.map(({ wire }) => wire))) : [];
      const errors = new Map(
        sent.flatMap(({ letter }, place) => {
          const result = results[place];
          return result?.kind === 'failed' ? [[letter, result.error] as const] : [];
        }),
      );
      const [error] = errors.values();
      return { done: letters.filter((letter) => !errors.has(letter)), error };
    },
    receive: (host) => new Consumer({ ...host, broker, classifier, takenAs: takenAs(host) }),
    close: () => broker.close(),
  };
}

function publishing(broker: Broker, { effects, tell }: TransportHost): PublishingHandler {
  return {
    ...RULES,
    kind: 'publish',
    name: `to-${broker.name}`,
    // Two batches: one on its way while the next is read.
    concurrency: 2,
    takes: new Map(),
    publish: publisher(broker, effects, tell),
  };
}

/** At its first run it fails as it did before, and becomes a dead letter; replayed, perhaps the code can read it by now. */
function readingAgain<Tx>(broker: Broker, host: TransportHost): HandlingHandler<Tx> {
  const run = async (kept: unknown): Promise<void> => {
    const message = fromWire(inboundOf(kept as Unreadable), { takenAs: takenAs(host), decode: broker.decode });
    if (message) await host.receive([message]);
  };
  const takes = new Map([[UNREADABLE, { event: { type: UNREADABLE, schema: undefined }, run }]]);
  return { ...RULES, kind: 'handle', name: `from-${broker.name}`, concurrency: 1, takes };
}

function takenAs({ service, types }: TransportHost): (type: string) => string | undefined {
  const known = new Set(types);
  return (type) => (known.has(type) ? receivedAs(service, type) : undefined);
}
