import { HoldfastError } from '../kernel/error.ts';
import { findUnstorable } from '../kernel/unstorable.ts';
import { MAX_PAYLOAD_BYTES } from '../outbox/payload.ts';
import type { Handle, HandlerContext } from '../relay/handler.ts';
import { LocalFault } from '../relay/local-fault.ts';
import { claimOf } from '../relay/run.ts';
import { eventHandlerClassifier } from '../retry/classifier.ts';
import { type CommandContext, commandContext } from './command-context.ts';
import type { CommandStore, StartedCommand } from './command-store.ts';

const LOCK_NOT_AVAILABLE = '55P03';

/** Handles one command. What it returns is the answer; throwing is a failed attempt. */
export type HandleCommand<Payload, Tx> = (payload: Payload, ctx: CommandContext<Tx>) => unknown;

/** What it takes to run the commands of one kind. */
export interface CommandRunner<Tx> {
  readonly service: string;
  readonly name: string;
  readonly store: CommandStore<never>;
  readonly handle: HandleCommand<unknown, Tx>;
}

/** The handler of a command's messages: writes that it runs, calls the handler, and commits what that answers. */
export function runCommands<Tx>(runner: CommandRunner<Tx>): Handle<unknown, Tx> {
  return async (payload, ctx) => {
    const started = await start(runner, ctx);
    // Its time may have been up before it began: by now another process may have it.
    ctx.signal.throwIfAborted();
    let committing: Promise<unknown> | undefined;
    const commit: CommandContext<Tx>['commit'] = <Answer>(effect: (tx: Tx) => Promise<Answer>) => {
      const committed = commitAnswer(runner, ctx, effect);
      // Whether or not the handler waits for it: the end of the run does, and judges its failure.
      if (!committing) committed.catch(() => undefined);
      committing ??= committed;
      return committed;
    };
    const answer = await runner.handle(payload, commandContext(ctx, started, commit));
    // One that was not waited for decides all the same, and so does one whose failure was hidden.
    if (committing) await committing;
    else await commitAnswer(runner, ctx, async () => answer);
  };
}

async function start<Tx>(
  { service, name, store }: CommandRunner<Tx>,
  ctx: HandlerContext<Tx>,
): Promise<StartedCommand> {
  const { id } = ctx;
  const claim = claimOf(ctx);
  const started = claim ? await store.start(service, id, claim).catch(notStarted) : 'taken';
  if (started === 'taken') throw new HoldfastError('DELIVERY_TAKEN', { id });
  if (started === 'unknown') throw new HoldfastError('COMMAND_UNKNOWN', { name, id });
  return started;
}

/**
 * A database that cannot be reached is no fault of the command, and no attempt of it unless it goes on and on. A row that another
 * transaction has locked counts as taken: nothing was run, and writing a fault to it would wait for that lock while it holds the shard.
 */
function notStarted(error: unknown): 'taken' {
  const { verdict, code } = eventHandlerClassifier(error);
  if (code === LOCK_NOT_AVAILABLE) return 'taken';
  if (verdict === 'fail') throw error;
  throw new LocalFault('database', error);
}

async function commitAnswer<Tx, Answer>(
  { service, name, store }: CommandRunner<Tx>,
  ctx: HandlerContext<Tx>,
  effect: (tx: Tx) => Promise<Answer>,
): Promise<Answer> {
  let given: { readonly answer: Answer } | undefined;
  await ctx.commit(async (tx) => {
    given = { answer: await effect(tx) };
    const finished = await store.finish(tx, service, ctx.id, answerText(name, given.answer));
    if (finished === 'taken') throw new HoldfastError('DELIVERY_TAKEN', { id: ctx.id });
    if (finished === 'ended') throw new HoldfastError('TRANSACTION_ENDED', {});
  });
  // The commit has resolved, so the effect has run.
  return (given as unknown as { readonly answer: Answer }).answer;
}

/** The answer as JSON text; nothing is null. Throws `COMMAND_ANSWER_INVALID`, naming the place, never the value. */
function answerText(name: string, answer: unknown): string {
  const kept = answer ?? null;
  const problem = findUnstorable(kept, 'answer');
  const text = problem === undefined ? JSON.stringify(kept) : '';
  const bytes = new TextEncoder().encode(text).length;
  if (problem !== undefined || bytes > MAX_PAYLOAD_BYTES) {
    const tooLarge = `answer has ${bytes} bytes and ${MAX_PAYLOAD_BYTES} is the most`;
    throw new HoldfastError('COMMAND_ANSWER_INVALID', { name, problem: problem ?? tooLarge });
  }
  return text;
}
