import { type Holdfast, idempotencyKey } from 'holdfast';
import type { CommandContext } from 'holdfast/commands';
import type { PoolClient } from 'pg';
import { correlationOf } from '../correlation.ts';
import { type GrowEvent, growEvents, type GrowEventName } from '../events/grow-event.ts';
import type { RunModule } from '../workflow/run-module.ts';

/** What happened, for the projectors. */
export type Told = Pick<GrowEvent, 'signal' | 'session' | 'artifact'>;

/** Sends a canonical event with the transaction of the module: it leaves with the commit, or not at all. */
export async function tell(
  {
    hf,
    tx,
    ctx,
  }: { readonly hf: Holdfast<PoolClient>; readonly tx: PoolClient; readonly ctx: CommandContext<PoolClient> },
  name: GrowEventName,
  { version, ...about }: RunModule,
  told: Told,
): Promise<void> {
  const { requestId } = ctx.correlation;
  const dedupeKey = idempotencyKey({
    domain: 'event',
    userId: about.userId,
    entityId: about.runId,
    operation: name,
    version,
  });
  const event: GrowEvent = {
    ...about,
    ...(requestId === undefined ? {} : { requestId }),
    ...told,
    stageId: about.moduleId,
    dedupeKey,
    occurredAt: new Date().toISOString(),
  };
  const cause = { causationId: ctx.commandId, ...(requestId === undefined ? {} : { correlationId: requestId }) };
  await hf.send(tx, growEvents[name], event, {
    idempotencyKey: dedupeKey,
    headers: correlationOf({ ...ctx.correlation, ...event }),
    ...cause,
  });
}
