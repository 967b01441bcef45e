import type { DrillDatabase } from './drill-database.ts';
import type { Crew, Member } from './crew.ts';
import type { FrontRedis } from './front-redis.ts';
import type { Sender } from './sender.ts';
import type { WorkloadSettings } from './settings.ts';
import type { TcpProxy } from './tcp-proxy.ts';

/** A database server that the drill has started. */
export interface OwnServer {
  readonly url: string;
  readonly about: string;
  /** Crashes it, and starts it again on what it had written. */
  restart(): Promise<void>;
  remove(): Promise<void>;
}

/** The HTTP front of a drill. */
export interface Front {
  readonly apis: Crew;
  /** The way to each API process; that of one that was killed leads to the one that took its place. */
  readonly apiProxies: ReadonlyMap<Member, TcpProxy>;
  readonly redis: FrontRedis;
  readonly redisProxies: readonly TcpProxy[];
  /** Starts an API process in the place of another. */
  replace(member: Member, signal: AbortSignal): Promise<void>;
}

/** Everything a drill has opened. */
export interface Site {
  readonly settings: WorkloadSettings;
  readonly database: DrillDatabase;
  /** Those that handle. */
  readonly crew: Crew;
  /** Those that publish, where they are processes of their own. */
  readonly relays: Crew | undefined;
  readonly front: Front | undefined;
  readonly sender: Sender;
  readonly leaseMs: number;
  /** The ways of the workers and the sender to the database. */
  readonly storeProxies: readonly TcpProxy[];
  readonly brokerProxies: readonly TcpProxy[];
  readonly ownServer: OwnServer | undefined;
  /** What the database and the machine are, for the report. */
  readonly about: Readonly<Record<string, string>>;
  /** Takes away all that the drill has made and started. */
  remove(): Promise<void>;
}

/** All ways there are. */
export function proxiesOf({ storeProxies, brokerProxies, front }: Site): readonly TcpProxy[] {
  const ofFront = front ? [...front.redisProxies, ...front.apiProxies.values()] : [];
  // Where Redis is the broker too there is one way to both.
  return [...new Set([...storeProxies, ...brokerProxies, ...ofFront])];
}
