import type { Db } from 'mongodb';
import type { HouseReport } from '../relay/house-report.ts';
import { systemEffects } from '../system/effects.ts';
import type { TransportHost } from '../transport/transport.ts';
import { boxReport } from './box-report.ts';
import { Lease } from './lease.ts';
import type { Row } from './row.ts';
import type { Rows } from './rows.ts';
import type { Running, StartParts } from './start-options.ts';
import { Wakeup } from './wakeup.ts';
import { Worker, type WorkerParts } from './worker.ts';

/** Nobody but this process says what the service takes, and copies of dead letters that come back are left alone. */
const none = (): Promise<readonly string[]> => Promise.resolve([]);

/** A service as its transport sees it. */
export function hostOf(
  service: string,
  { tell }: StartParts,
  types: readonly string[],
  receive: TransportHost['receive'] = () => Promise.reject(new TypeError('an outbox receives nothing')),
): TransportHost {
  return { service, effects: systemEffects, tell, types, taken: none, takeBack: none, receive };
}

/** Units of what is emitted: see `WorkerParts.unit`. */
export const OUTBOX_UNIT = 0;
export const INBOX_UNIT = 1;

/** What a worker on rows is made of. */
export interface LeasedParts<R extends Row> {
  readonly db: Db;
  readonly id: string;
  readonly owner: string;
  readonly start: StartParts;
  readonly rows: Rows<R>;
  readonly service: string;
  readonly unit: WorkerParts['unit'];
  readonly round: WorkerParts['round'];
  readonly settled?: WorkerParts['settled'];
  readonly wakeup?: Wakeup;
}

/** Starts a worker that holds the lease of `id` while it works. */
export function leasedWorker<R extends Row>(parts: LeasedParts<R>): Worker {
  const { db, id, owner, start, rows, service, unit, round, settled = async () => undefined } = parts;
  const effects = systemEffects;
  const lease = new Lease({ db, id, owner, leaseMs: start.leaseMs, effects });
  const wakeup = parts.wakeup ?? wakeupOf(rows, service, start);
  const count = (): Promise<HouseReport> => boxReport(rows, service, effects);
  return new Worker({ lease, wakeup, pollMs: start.pollMs, effects, tell: start.tell, round, settled, unit, count });
}

/** Wakes a worker on rows. Of a collection that is dropped meanwhile it makes the indexes again, a unique one among them, and says so. */
export function wakeupOf<R extends Row>(rows: Rows<R>, service: string, { tell }: StartParts): Wakeup {
  const report = (error: unknown): void => tell({ kind: 'store-failed', during: 'relay', error, failures: 1 });
  const wakeup = new Wakeup(rows.collection, service, systemEffects, () => {
    const name = rows.collection.collectionName;
    report(
      new Error(`the collection "${name}" was dropped or renamed: its indexes are made again, what it held is gone`),
    );
    rows.prepare().then(() => wakeup.wake(), report);
  });
  return wakeup;
}

/** Something that runs until `end` is called, once. */
export function runningUntil(end: () => Promise<void>): Running {
  let ended: Promise<void> | undefined;
  const stop = (): Promise<void> => (ended ??= end());
  return { stop, [Symbol.asyncDispose]: stop };
}
