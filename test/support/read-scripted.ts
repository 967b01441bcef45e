import type { RetryEvent } from '../../src/retry/retry-event.ts';
import {
  retryStream,
  type RetryStreamEvent,
  type RetryStreamOptions,
  withoutRetryEvents,
} from '../../src/stream/index.ts';
import { scriptAdapter, type ScriptEvent, scriptedStream, type ScriptStep } from './scripted-stream.ts';

/** What one reading gave. */
export interface ScriptedReading {
  readonly items: readonly (ScriptEvent | RetryStreamEvent)[];
  readonly chunks: readonly ScriptEvent[];
  readonly thrown: unknown;
  readonly opens: number;
  readonly slept: readonly number[];
  readonly seen: readonly RetryEvent[];
}

/** Reads a scripted stream to its end with a strategy of fixed waits, all written down and none really waited. */
export async function readScripted(
  scripts: readonly (readonly ScriptStep[])[],
  options: Partial<RetryStreamOptions<ScriptEvent>> & { delays?: readonly number[] } = {},
): Promise<ScriptedReading> {
  const { delays = [5, 10, 30], ...rest } = options;
  const source = scriptedStream(...scripts);
  const slept: number[] = [];
  const seen: RetryEvent[] = [];
  const items: (ScriptEvent | RetryStreamEvent)[] = [];
  let thrown: unknown;
  const stream = retryStream({
    open: source.open,
    adapter: scriptAdapter,
    conversationId: 'c1',
    turnId: 't1',
    retry: { delayFor: (n) => delays[n], sleep: async (ms) => void slept.push(ms) },
    observe: (event) => seen.push(event),
    ...rest,
  });
  try {
    for await (const item of stream) items.push(item);
  } catch (error) {
    thrown = error;
  }
  return { items, chunks: withoutRetryEvents(items), thrown, opens: source.attempts.length, slept, seen };
}
