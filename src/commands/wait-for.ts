import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import { abortable } from './abortable.ts';
import type { CommandOutcome, CommandRecord } from './command-record.ts';

/** What `wait` takes. */
export interface WaitOptions {
  /** How long to wait at most, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 30_000;
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 500;

/** Looks until a command has come to an end, ever less often. Leaves no timer behind. */
export async function waitFor(
  effects: Effects,
  find: () => Promise<CommandRecord | undefined>,
  options: WaitOptions,
): Promise<CommandOutcome> {
  checkWait(options);
  const { timeoutMs = TIMEOUT_MS, signal } = options;
  const sleep = createSleep(effects);
  const untilMs = effects.monoMs() + timeoutMs;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)) {
    signal?.throwIfAborted();
    const command = await abortable(find(), signal);
    if (!command) return { kind: 'not-found' };
    const outcome = outcomeOf(command);
    if (outcome) return outcome;
    const leftMs = untilMs - effects.monoMs();
    if (leftMs <= 0) return { kind: 'timeout', command };
    await sleep(Math.min(lookMs, leftMs), signal);
  }
}

/** What became of a command; nothing as long as it goes on by itself, or may. */
function outcomeOf(command: CommandRecord): CommandOutcome | undefined {
  const { state, answer, error, closedAt } = command;
  if (state === 'done') return { kind: 'done', command, answer };
  if (closedAt !== undefined) return { kind: 'closed', command };
  return state === 'blocked' || state === 'dlq' ? { kind: state, command, error } : undefined;
}

function checkWait(options: WaitOptions): void {
  const check = new OptionCheck('wait()');
  if (check.object('options', options, 'pass an object, or leave it out')) {
    check.known(options, ['timeoutMs', 'signal']);
    if (options.timeoutMs !== undefined)
      check.number('timeoutMs', options.timeoutMs, { min: 0, write: 'write milliseconds from 0' });
    if (options.signal !== undefined && !(options.signal instanceof AbortSignal))
      check.refuse('signal', options.signal, 'pass an AbortSignal, or leave it out');
  }
  check.done();
}
