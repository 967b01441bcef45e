import type { Correlation } from '../kernel/log.ts';
import type { HandlerContext } from '../relay/handler.ts';
import type { StartedCommand } from './command-store.ts';

/** What the handler of a command knows about it, and what it can do. */
export interface CommandContext<Tx> extends Omit<HandlerContext<Tx>, 'commit' | 'postpone' | 'target'> {
  readonly commandId: string;
  readonly target: string;
  readonly module: string;
  readonly correlation: Correlation;
  /**
   * The command's own key, the same at every attempt, replay and takeover: hand it to whatever is called. After an edit of the
   * payload it is another one.
   */
  readonly idempotencyKey: string;
  /**
   * Commits the effect together with `done` and the answer, which is what the effect gives: all of it is kept, or nothing. Do slow
   * work before, only statements inside. Rejects with `DELIVERY_TAKEN` when the command is no longer this process's; throw it on.
   */
  commit<Answer>(effect: (tx: Tx) => Promise<Answer>): Promise<Answer>;
}

/** The context of a run as the handler of its command gets it. */
export function commandContext<Tx>(
  ctx: HandlerContext<Tx>,
  { target, module, idempotencyKey, correlation }: StartedCommand,
  commit: CommandContext<Tx>['commit'],
): CommandContext<Tx> {
  return {
    commandId: ctx.id,
    id: ctx.id,
    type: ctx.type,
    key: ctx.key,
    handler: ctx.handler,
    attempt: ctx.attempt,
    maxAttempts: ctx.maxAttempts,
    replays: ctx.replays,
    source: ctx.source,
    headers: ctx.headers,
    generation: ctx.generation,
    correlationId: ctx.correlationId,
    causationId: ctx.causationId,
    traceparent: ctx.traceparent,
    createdAt: ctx.createdAt,
    target,
    module,
    idempotencyKey,
    correlation,
    commit,
    // Made only if somebody looks at it.
    get signal() {
      return ctx.signal;
    },
  };
}
