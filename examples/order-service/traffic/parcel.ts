import { command, type DurableCommands } from 'holdfast/commands';
import type { SqlTransaction } from 'holdfast/postgres';
import type { PoolClient } from 'pg';
import { z } from 'zod';

/** The steps of a parcel, in their order. */
export const PARCEL_STEPS = ['pick', 'pack', 'label', 'hand-over'] as const;

/** One step of a parcel: its steps are carried out one after the other. */
export const parcelStep = command('parcel.step', {
  schema: z.object({ parcel: z.string(), step: z.enum(PARCEL_STEPS) }),
  target: ({ parcel }) => parcel,
  module: ({ step }) => step,
  key: ({ parcel, step }) => `${parcel}:${step}`,
  onExhausted: () => 'blocked',
  policy: { maxAttempts: 2 },
});

/** The printer of labels. While it has no paper, parcels stand still at their label. */
export class LabelPrinter {
  hasPaper = true;

  print(parcel: string): string {
    if (!this.hasPaper) throw new Error('the label printer is out of paper');
    return `label of ${parcel}`;
  }
}

/** Says how each step is done. */
export function handleParcels(commands: DurableCommands<PoolClient, SqlTransaction>, printer: LabelPrinter): void {
  commands.handle(parcelStep, async ({ parcel, step }) =>
    step === 'label' ? { done: printer.print(parcel) } : { done: `${step} ${parcel}` },
  );
}
