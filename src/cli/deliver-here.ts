import { type AddressRules, checkDestination } from '../delivery/address-guard.ts';
import type { Deliveries } from '../delivery/deliveries.ts';
import type { OwnListener } from '../delivery/own-listener.ts';
import { startDeliveries } from '../delivery/delivery-server.ts';
import { MIN_SECRET_LENGTH } from '../system/sealed-text.ts';
import type { Logger } from '../kernel/log.ts';
import { postgresDelivery } from '../postgres/delivery/postgres-delivery.ts';
import type { SqlPool } from '../postgres/driver/find-driver.ts';
import { postgres } from '../postgres/postgres.ts';
import { type QstashApi, qstashApi } from '../qstash/qstash-api.ts';
import { CliError, usageError } from './cli-error.ts';
import type { Invocation, OptionSpec } from './command.ts';
import type { Database } from './database.ts';
import type { Io } from './io.ts';
import { withDevCredentials } from './qstash-dev.ts';
import { RelayPrinter } from './relay-printer.ts';

/** Options of whatever delivers. */
export const DELIVERY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'allow-private': {
    value: '<network>',
    summary: 'deliver to this private network too: 10.0.0.0/8',
    multiple: true,
    default: 'public addresses alone',
  },
  'dedup-window': { value: '<time>', summary: 'how long a deduplication id is remembered', default: '10m' },
  'delivery-concurrency': { value: '<n>', summary: 'how many deliveries are on their way at once', default: '512' },
  'token-in-query': { summary: 'tokens may stand in the query too: for senders that can set no header' },
  'max-body': { value: '<bytes>', summary: 'the most a message may have', default: '1000000' },
};

/** Deliveries that are made in this process, and the API that takes them in. */
export interface DeliveringHere {
  readonly api: QstashApi;
  readonly deliveries: Deliveries;
  /** Nothing is delivered to where this process listens. */
  readonly ownListener: (listener: OwnListener) => void;
  /** Ends when what is on its way has arrived, or has been given back. */
  stop(): Promise<void>;
}

interface DeliveryPlace {
  readonly secret: string;
  /** This machine may be called. */
  readonly loopback: boolean;
  /** With the credentials everybody knows. */
  readonly isQstashDev: boolean;
  /** What else of this process listens. */
  readonly own?: readonly OwnListener[];
  readonly logger: Logger;
}

/** What keys are sealed by, from HOLDFAST_SECRET. */
export function secretOf({ env }: Pick<Io, 'env'>): string {
  const secret = env['HOLDFAST_SECRET'] ?? '';
  if (secret.length >= MIN_SECRET_LENGTH) return secret;
  const found = secret === '' ? 'is not set' : `has ${secret.length} characters`;
  throw new CliError(
    `HOLDFAST_SECRET ${found}; set it to ${MIN_SECRET_LENGTH} random characters or more, such as those of openssl rand -hex 32, and keep it: signing keys are sealed by it`,
  );
}

/** Starts to deliver from this database, and opens the API over it. */
export async function deliverHere(
  invocation: Invocation,
  { driver, schema }: Database,
  place: DeliveryPlace,
): Promise<DeliveringHere> {
  const { io, options, output } = invocation;
  const own = [...(place.own ?? [])];
  const addresses: AddressRules = {
    allow: options.list('allow-private'),
    loopback: place.loopback,
    own: () => own,
  };
  const concurrency = options.count('delivery-concurrency') ?? 512;
  const maxBodyBytes = options.count('max-body') ?? 1_000_000;
  const stored = postgresDelivery({
    pool: driver.pool,
    schema,
    secret: place.secret,
    dedupMs: options.durationMs('dedup-window'),
    maxBodyBytes,
    refuseUrl: (url) => {
      const verdict = checkDestination(url, addresses);
      return verdict.kind === 'refused' ? verdict.why : undefined;
    },
  });
  const deliveries = place.isQstashDev ? withDevCredentials(stored) : stored;
  // A secret that does not fit is told now, not to whoever publishes first.
  await deliveries.sender.signingKeys();
  const printer = new RelayPrinter(io, output, options.flag('verbose'));
  let now = 0;
  const running = await startDeliveries({
    // The driver's pool is one of pg or of postgres.js, whichever was found.
    store: postgres({ pool: driver.pool as unknown as SqlPool, schema }),
    sender: deliveries.sender,
    schedules: deliveries.schedules,
    addresses,
    concurrency,
    name: io.processName,
    observers: [printer.observe],
    wrapRun: async (_about, run) => {
      now += 1;
      try {
        return await run();
      } finally {
        now -= 1;
      }
    },
  });
  const api = qstashApi({
    deliveries,
    basePath: options.text('base-path'),
    maxBodyBytes,
    maxBatchBytes: maxBodyBytes * 10,
    tokenInQuery: options.flag('token-in-query'),
    activity: () => ({ most: concurrency, now }),
    logger: place.logger,
  });
  return { api, deliveries, ownListener: (listener) => void own.push(listener), stop: () => running.stop() };
}

/** Refuses options that mean nothing without `--deliver`. */
export function demandDeliver({ options }: Pick<Invocation, 'options'>): void {
  const given = Object.keys(DELIVERY_OPTIONS).find((name) => options.has(name));
  if (given !== undefined) throw usageError(`--${given} is about deliveries; pass --deliver too`);
}
