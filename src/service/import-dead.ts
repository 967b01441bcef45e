import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { OutboxStore } from '../outbox/outbox-store.ts';
import type { RelayEvent } from '../relay/relay-event.ts';
import type { RelayStore } from '../relay/relay-store.ts';
import { systemEffects } from '../system/effects.ts';
import type { HandlerRegistry } from './handler-registry.ts';
import { START_DEFAULTS } from './start-options.ts';
import { isRelayStore, type ServiceAbout } from './start-service.ts';
import { TransportWays } from './transport-ways.ts';

/** What `importDead` takes. Every field may be left out. */
export interface ImportDeadOptions {
  /** It ends when nothing has come for this long, in milliseconds. Default 3,000. */
  readonly quietMs?: number | undefined;
  readonly effects?: Effects | undefined;
}

/** What an import came to. */
export interface ImportedDead {
  /** Dead letters that are here now. */
  readonly imported: number;
  /** Those that were here before. */
  readonly known: number;
  /** Copies of our own dead letters, which are here anyway. */
  readonly own: number;
}

const LOOK_MS = 50;
/** A broker that fails this often in a row is away. */
const MOST_FAILURES = 4;

const nothing = async (): Promise<never[]> => [];

/** Takes in what brokers keep as dead letters of the types this service handles, until nothing more comes. */
export async function importDead<Tx, SendTx>(
  { service, routes }: ServiceAbout,
  store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>,
  registry: HandlerRegistry<Tx>,
  options: ImportDeadOptions,
): Promise<ImportedDead> {
  const { quietMs = 3_000, effects = systemEffects } = options;
  const check = new OptionCheck('importDead()');
  check.number('quietMs', quietMs, { min: 1, integer: true, write: 'write whole milliseconds from 1' });
  check.done();
  if (!isRelayStore(store)) throw new HoldfastError('STORE_CANNOT_RUN', { service });
  const session = await store.openRelay();
  const count = { imported: 0, known: 0, own: 0 };
  let heardMs = effects.monoMs();
  let failure: Extract<RelayEvent, { kind: 'transport-failed' }> | undefined;
  const tell = (event: RelayEvent): void => {
    if (event.kind === 'transport-failed' && event.failures >= MOST_FAILURES) failure = event;
    if (event.kind !== 'received') return;
    heardMs = effects.monoMs();
    count.imported += event.stored;
    count.known += event.duplicates;
    count.own += event.ignored;
  };
  const types = [...registry.all.values()].flatMap(({ takes }) => Array.from(takes.keys()));
  const receive: ConstructorParameters<typeof TransportWays>[2]['receive'] = (messages) =>
    session.receive(messages, START_DEFAULTS.inboxMs);
  const receiving = new TransportWays<Tx>(routes, types, {
    service,
    effects,
    tell,
    receive,
    taken: nothing,
    takeBack: nothing,
  }).importDead();
  const sleep = createSleep(effects);
  try {
    while (!failure && effects.monoMs() - heardMs < quietMs) await sleep(LOOK_MS);
  } finally {
    await Promise.all(receiving.map((one) => one.stop()));
    await session.close();
  }
  if (failure) throw new HoldfastError('BROKER_AWAY', { transport: failure.transport }, { cause: failure.error });
  return count;
}
