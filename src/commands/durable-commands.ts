import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { Correlation } from '../kernel/log.ts';
import { wrapped } from '../kernel/wrapped.ts';
import { COMMANDS_HANDLER } from '../outbox/command-type.ts';
import type { Delivery } from '../relay/relay-store.ts';
import type { HandlerOptions } from '../relay/handler.ts';
import type { Holdfast } from '../service/holdfast.ts';
import { systemEffects } from '../system/effects.ts';
import type { CommandOutcome, CommandRecord, RunRecord, StreamedCommandEvent } from './command-record.ts';
import type { CommandState } from './command-state.ts';
import type { CommandStore, PutAnswer } from './command-store.ts';
import type { CommandDefinition } from './command.ts';
import { checkDefinition, newCommand, ON_EXHAUSTED_HEADER } from './new-command.ts';
import { type HandleCommand, runCommands } from './run-command.ts';
import { runOf } from './run-of.ts';
import { type EventOptions, streamEvents } from './stream-events.ts';
import { type WaitOptions, waitFor } from './wait-for.ts';

/** What `durableCommands` takes. */
export interface DurableCommandsOptions<Tx, SendTx> {
  /** The service whose commands they are; it runs them when it is started. */
  readonly holdfast: Holdfast<Tx, never>;
  /** Where they are kept: `postgresCommands({ pool })`, on the same database. */
  readonly store: CommandStore<SendTx>;
  /** How many run at once in one process. Default 16. Those of one target never do. */
  readonly concurrency?: number | undefined;
}

/** What became of a command that was asked for. */
export interface SentCommand {
  readonly commandId: string;
  /** Where it stands: with a key that was known, where that command stands. */
  readonly state: CommandState;
  /** This call has made it known, or put it in line; false: that was done before, and nothing was changed. */
  readonly isNew: boolean;
}

/** The commands of one service. */
export interface DurableCommands<Tx, SendTx> {
  /**
   * Registers who carries out a kind of command. What it returns is the answer; throwing is a failed attempt. Before `hf.start()`.
   */
  handle<Input, Output>(definition: CommandDefinition<Input, Output>, handle: HandleCommand<Output, Tx>): void;
  /**
   * Makes a command known in the caller's transaction without asking for it: `idle`. Throws `COMMAND_KEY_REUSED` when its key stands
   * for another payload.
   */
  plan<Input, Output>(
    tx: SendTx,
    definition: CommandDefinition<Input, Output>,
    payload: Input,
    correlation?: Correlation,
  ): Promise<SentCommand>;
  /**
   * Asks for a command in the caller's transaction: it is stored and stands in the line of its target with the commit. With the same
   * key again it is the same command. Throws `COMMAND_KEY_REUSED`, `PAYLOAD_INVALID` or `OUTBOX_FULL` before anything is written, so
   * the transaction stays usable.
   */
  send<Input, Output>(
    tx: SendTx,
    definition: CommandDefinition<Input, Output>,
    payload: Input,
    correlation?: Correlation,
  ): Promise<SentCommand>;
  /** One command, by its id or by its key; nothing when there is none, or when its time to be kept is over. */
  get(by: string | { readonly key: string }): Promise<CommandRecord | undefined>;
  /** Everything that was asked of a target; nothing when nothing was. */
  run(target: string): Promise<RunRecord | undefined>;
  /**
   * Waits until a command is done or has stopped for good. However that goes is told as a value; rejects only with the reason of the
   * signal, or when the database cannot be asked.
   */
  wait(commandId: string, options?: WaitOptions): Promise<CommandOutcome>;
  /** What happens to the commands of a target, from its beginning or behind a cursor, until the signal is aborted. */
  events(target: string, options?: EventOptions): AsyncIterable<StreamedCommandEvent>;
}

/** Ties commands to a service and to where they are kept. Starts nothing. */
export function durableCommands<Tx, SendTx>(options: DurableCommandsOptions<Tx, SendTx>): DurableCommands<Tx, SendTx> {
  checkDurableCommands(options);
  const { holdfast: hf, store, concurrency } = options;
  const { service } = hf;
  let isFirst = true;
  const put =
    (of: string, to: 'idle' | 'queued'): DurableCommands<Tx, SendTx>['send'] =>
    async (tx, definition, payload, correlation = {}) => {
      const made = await newCommand(of, hf, definition, payload, correlation);
      const answer = await wrappedPut(hf, made.message.type, () => store.put(tx, made, to));
      const { commandId } = answer;
      if (answer.kind === 'other-request') {
        throw new HoldfastError('COMMAND_KEY_REUSED', { name: definition.name, key: made.idempotencyKey, commandId });
      }
      return { commandId, state: answer.state, isNew: answer.isNew };
    };
  return {
    handle: (definition, handle) => {
      checkDefinition('handle()', definition);
      const run = runCommands<Tx>({
        service,
        name: definition.name,
        store,
        handle: handle as HandleCommand<unknown, Tx>,
      });
      // One handler for commands of every kind, which call all sorts of things: what is down for one must not stop the others.
      const first = isFirst ? { breaker: false as const, ...(concurrency !== undefined && { concurrency }) } : {};
      hf.on(definition.event, COMMANDS_HANDLER, run, { ...rulesOf(definition), ...first });
      isFirst = false;
    },
    plan: put('plan()', 'idle'),
    send: put('send()', 'queued'),
    get: (by) => store.find(service, typeof by === 'string' ? { id: by } : by),
    run: async (target) => runOf(target, await store.ofTarget(service, target)),
    wait: (commandId, waitOptions = {}) =>
      waitFor(systemEffects, () => store.find(service, { id: commandId }), waitOptions),
    events: (target, eventOptions = {}) =>
      streamEvents(systemEffects, (after, limit) => store.events(service, target, after, limit), eventOptions),
  };
}

/** Whether later ones of its target wait behind a dead one. */
function onDead({ headers }: Delivery): 'block' | 'pass' {
  return headers?.[ON_EXHAUSTED_HEADER] === 'blocked' ? 'block' : 'pass';
}

function rulesOf<Input, Output>(definition: CommandDefinition<Input, Output>): HandlerOptions {
  const { policy, classify, timeoutMs } = definition;
  // A command counts every failure: whoever planned it waits for its end.
  return { policy, classify, timeoutMs, onDead, maxOutageMs: 0 };
}

/** Puts it inside the service's wrapper of sends, if it has one. */
async function wrappedPut<Tx>(
  { service, wrapSend }: Holdfast<Tx, never>,
  type: string,
  put: () => Promise<PutAnswer>,
): Promise<PutAnswer> {
  if (!wrapSend) return put();
  let answer: PutAnswer | undefined;
  await wrapped(
    (once) => wrapSend({ service, types: [type] }, once),
    async () => {
      answer = await put();
      const isNew = answer.kind === 'known' && answer.isNew;
      return [{ kind: isNew ? ('stored' as const) : ('duplicate' as const), id: answer.commandId }];
    },
  );
  if (!answer) throw new TypeError('the store gave no answer for a command');
  return answer;
}

function checkDurableCommands<Tx, SendTx>(options: DurableCommandsOptions<Tx, SendTx>): void {
  const check = new OptionCheck('durableCommands()');
  if (check.object('options', options, 'pass { holdfast: hf, store: postgresCommands({ pool }) }')) {
    check.known(options, ['holdfast', 'store', 'concurrency']);
    const { holdfast: hf, store, concurrency } = options;
    if (typeof hf?.on !== 'function') check.refuse('holdfast', hf, 'pass what holdfast({ service, store }) gives');
    if (typeof store?.put !== 'function')
      check.refuse('store', store, 'pass a store, for example postgresCommands({ pool })');
    if (concurrency !== undefined) {
      const bounds = { min: 1, max: 10_000, integer: true, write: 'write a whole number from 1' };
      check.number('concurrency', concurrency, bounds);
    }
  }
  check.done();
}
