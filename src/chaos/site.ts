import type { DrillDatabase } from './drill-database.ts';
import type { Crew } from './crew.ts';
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

/** Everything a drill has opened. */
export interface Site {
  readonly settings: WorkloadSettings;
  readonly database: DrillDatabase;
  readonly crew: Crew;
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
export function proxiesOf({ storeProxies, brokerProxies }: Site): readonly TcpProxy[] {
  return [...storeProxies, ...brokerProxies];
}
