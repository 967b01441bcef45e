import type { CommandContext } from 'holdfast/commands';
import type { CallOptions } from 'holdfast/http';
import type { PoolClient } from 'pg';
import { known } from '../correlation.ts';
import type { RunModule } from '../workflow/run-module.ts';

/** What every call carries that a command makes: its key, the same at every attempt; whose action it is; and until when. */
export function callOf(
  { userId }: RunModule,
  ctx: CommandContext<PoolClient>,
): CallOptions & { readonly idempotencyKey: string } {
  const { idempotencyKey, signal, correlation } = ctx;
  const { requestId } = correlation;
  return {
    idempotencyKey,
    signal,
    user: userId,
    ...(requestId === undefined ? {} : { requestId }),
    logFields: known({ ...correlation, commandId: ctx.commandId }),
  };
}
