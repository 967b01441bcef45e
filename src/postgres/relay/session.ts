import type { Effects } from '../../kernel/effects.ts';
import type { RelaySession } from '../../relay/relay-store.ts';
import type { Driver, Link } from '../driver/driver.ts';
import { receiveAct, takenAct } from '../receive.ts';
import type { Within } from '../transaction-adapter.ts';
import { breakerAct } from './breaker.ts';
import { carryOnAct } from './carry-on.ts';
import { checkStart } from './check-start.ts';
import { commitAct } from './commit.ts';
import { mirrorActs } from './mirror.ts';
import { incarnationAct } from './incarnation.ts';
import { leaseActs } from './lease.ts';
import { readActs } from './read.ts';
import { registerAct } from './register.ts';
import { settleActs } from './settle.ts';
import { tallied } from './tally-acts.ts';
import { tidyAct } from './tidy.ts';
import { WakeListener } from './wake-listener.ts';
import { unitsNewsStatement } from './wake-statement.ts';

/** What a session is made of. */
export interface SessionParts<Tx> {
  /** Quoted. */
  readonly schema: string;
  readonly channel: string;
  readonly driver: Driver<unknown>;
  /** Where LISTEN works; the same driver unless `driver` goes through a pooler. */
  readonly listenDriver: Driver<unknown>;
  readonly within: Within<Tx>;
  readonly effects: Effects;
}

/** How long a commit's session may rest until the first worker registers with its own lease time. */
const DEFAULT_LEASE_MS = 10_000;

/**
 * Opens a worker's conversation with PostgreSQL. Connections of its own: heartbeat, reader, settling (two, the second when it is
 * needed), housekeeping (only where that is done), receiving (only where that is done), LISTEN.
 */
export async function openSession<Tx>(parts: SessionParts<Tx>): Promise<RelaySession<Tx>> {
  const { schema, channel, driver, effects } = parts;
  const beat = driver.link();
  const read = driver.link();
  const settle: [Link, Link] = [driver.link(), driver.link()];
  const house = driver.link();
  const inbound = driver.link();
  const links = [beat, read, ...settle, house, inbound];
  const listeners = new Set<WakeListener>();
  const close = async (): Promise<void> => {
    await Promise.all([...[...listeners].map((listener) => listener.close()), ...links.map((link) => link.close())]);
    listeners.clear();
  };
  try {
    await checkStart(beat, schema);
  } catch (error) {
    await close();
    throw error;
  }
  let leaseMs = DEFAULT_LEASE_MS;
  const tellUnits = unitsNewsStatement(channel);
  const livenessLock = (): string | undefined => [...listeners].find(({ lock }) => lock !== undefined)?.lock;
  const register = registerAct(house, schema, tellUnits, effects, livenessLock);
  const lease = leaseActs(beat, schema, tellUnits, {
    key: livenessLock,
    lost: () => listeners.forEach((listener) => listener.lockLost()),
  });
  const counted = {
    beat: lease.beat,
    leave: lease.leave,
    receive: receiveAct(inbound, schema, channel),
    register: (worker: Parameters<typeof register>[0]) => {
      leaseMs = worker.leaseMs;
      return register(worker);
    },
  };
  return {
    ...lease,
    ...tallied(counted, beat, schema, effects),
    ...breakerAct(beat, schema),
    incarnation: incarnationAct(beat, driver),
    ...readActs(read, schema),
    ...settleActs(settle, schema),
    commit: commitAct(driver, schema, parts.within, () => leaseMs),
    listen: async (onNews) => {
      const listener = new WakeListener(parts.listenDriver, beat, channel, effects, onNews);
      listeners.add(listener);
      return listener.start();
    },
    ...mirrorActs(inbound, schema),
    taken: takenAct(inbound, schema),
    tidy: tidyAct(house, schema, effects),
    carryOn: carryOnAct(house, schema),
    close,
  };
}
