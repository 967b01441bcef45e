import { bareEnvelope } from '../../src/outbox/envelope.ts';
import type { KeyLine } from '../../src/relay/key-line.ts';
import type { Lines } from '../../src/relay/lines.ts';
import { OwnedUnit } from '../../src/relay/owned-unit.ts';
import type { Delivery } from '../../src/relay/relay-store.ts';

/** What the units of a test asked for since it began. */
export const told = {
  runnable: [] as Delivery[],
  parked: [] as number[],
  linedUp: [] as number[],
  quiet: [] as true[],
  wanted: [] as { line: KeyLine; seqs: readonly number[]; isAhead: boolean }[],
};

export function forgetTold(): void {
  for (const list of Object.values(told)) list.length = 0;
}

/** A unit that was loaded and has nothing. */
export function ownedUnit(options: { parks?: boolean; carefulStarts?: number; lines?: Lines } = {}): OwnedUnit {
  const sink = {
    runnable: (delivery: Delivery) => void told.runnable.push(delivery),
    moved: (_: OwnedUnit, deliveries: readonly Delivery[], behind?: number) =>
      void (behind === undefined ? told.linedUp : told.parked).push(...deliveries.map(({ seq }) => seq)),
    quiet: () => void told.quiet.push(true),
    wanted: (_: OwnedUnit, line: KeyLine, seqs: readonly number[], isAhead: boolean) =>
      void told.wanted.push({ line, seqs, isAhead }),
  };
  const { parks = false, carefulStarts = 0, lines } = options;
  const unit = new OwnedUnit({ unit: 7, epoch: 1 }, sink, { parks, carefulStarts, lines });
  unit.load({ unit: 7, poke: 0, holders: [] });
  return unit;
}

export function row(seq: number, key?: string, more: Partial<Delivery> = {}): Delivery {
  return {
    ...bareEnvelope('s'),
    unit: 7,
    seq,
    state: 'ready',
    version: 0,
    id: `id-${seq}`,
    type: 't',
    key,
    payload: '{}',
    attempts: 0,
    cycle: 0,
    rerun: 0,
    retry: undefined,
    starts: 0,
    idempotencyKey: `id-${seq}`,
    createdAtMs: 0,
    ...more,
  };
}

export const due = (seq: number, key?: string): Delivery => row(seq, key, { state: 'waiting' });

/** Starts the next one that may run, and gives its place in line. */
export function start(unit: OwnedUnit): number | undefined {
  const next = told.runnable.shift();
  if (next) unit.started(next);
  return next?.seq;
}

export function end(unit: OwnedUnit, delivery: Delivery, change: Parameters<OwnedUnit['ended']>[1] = 'done'): void {
  unit.ended(delivery, change);
  unit.settled(delivery, false);
}
