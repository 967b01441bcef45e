import type { Holdfast } from 'holdfast';
import { durableCommands } from 'holdfast/commands';
import { idempotency } from 'holdfast/idempotency';
import { postgresCommands, postgresIdempotency } from 'holdfast/postgres';
import type { PoolClient } from 'pg';
import { LiveTraffic, type TrafficTools } from './live-traffic.ts';
import { handleParcels, LabelPrinter } from './parcel.ts';
import { registerStock } from './stock.ts';

/** What is done is forgotten after so long: it runs for hours, and nobody looks at yesterday's. */
export const TRAFFIC_KEPT_MS: number = 60 * 60_000;

type Given = Omit<TrafficTools, 'commands' | 'idempotency' | 'printer'> & { readonly hf: Holdfast<PoolClient> };

/** Registers what the live traffic needs besides orders; call it before the service starts. It begins with `start`. */
export async function openTraffic(given: Given): Promise<LiveTraffic> {
  const { hf, pool, facts } = given;
  const printer = new LabelPrinter();
  const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool, keepMs: TRAFFIC_KEPT_MS }) });
  handleParcels(commands, printer);
  await registerStock(hf, pool);
  const idem = idempotency({
    service: 'orders',
    store: postgresIdempotency({ pool }),
    keepMs: TRAFFIC_KEPT_MS,
    observers: [facts.idempotency],
  });
  return new LiveTraffic({ ...given, commands, idempotency: idem, printer });
}
