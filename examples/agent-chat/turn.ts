import type { RetryStrategy } from 'holdfast';
import { isRetryStreamEvent, openaiChat, retryStream } from 'holdfast/stream';
import OpenAI from 'openai';
import { NOTHING_YET, type TurnProgress } from './chat-store.ts';
import type { LiveTurn } from './live-turn.ts';
import type { HistoryEntry, TurnFailure, TurnOutcome } from './turn-event.ts';

export interface TurnInput {
  readonly turn: LiveTurn;
  /** What was said so far, the question included. */
  readonly history: readonly HistoryEntry[];
  /** The base URL of a provider that speaks OpenAI's chat completions. */
  readonly provider: { readonly url: string };
  readonly retry: RetryStrategy;
  /** Adds to the history that is kept. */
  readonly keep: (entry: HistoryEntry) => void;
  /** Saves how far the turn has come. */
  readonly save: (progress: TurnProgress) => Promise<void>;
  /** How far it had come when the process before this one ended. */
  readonly resume?: TurnProgress | undefined;
}

/**
 * Answers the last question of the history. Text and retries are told as they happen; kept are only the answer, and the
 * error or the abort that ended it.
 */
export async function answerTurn(input: TurnInput): Promise<TurnOutcome> {
  const { turn, keep, save, resume = NOTHING_YET } = input;
  const of = { conversationId: turn.conversationId, turnId: turn.id };
  let answer = '';
  let { retries, waitedMs } = resume;
  try {
    answer = resume.text;
    // What was shown is never asked for again.
    if (answer !== '') throw new Error('The chat ended in the middle of this answer.');
    await waitForTheRest(input, resume);
    for await (const chunk of answerStream(input, resume.retries)) {
      if (isRetryStreamEvent(chunk)) {
        const event = { ...chunk, attempt: chunk.attempt + resume.retries };
        if (event.type === 'provider-retry') {
          retries += 1;
          waitedMs += event.delayMs;
          await save({ retries, waitedMs, text: '', wait: { retry: event, dueAtMs: Date.now() + event.delayMs } });
        }
        turn.emit(event);
        continue;
      }
      const text = chunk.choices[0]?.delta.content ?? '';
      if (text === '') continue;
      answer += text;
      await save({ retries, waitedMs, text: answer });
      turn.emit({ type: 'text', ...of, text });
    }
    keep({ turnId: turn.id, role: 'assistant', text: answer });
    return 'completed';
  } catch (error) {
    // What was shown was said: half an answer stays in the history, and the model sees it next time.
    if (answer !== '') keep({ turnId: turn.id, role: 'assistant', text: answer });
    if (turn.signal.aborted) {
      keep({ turnId: turn.id, role: 'aborted' });
      return 'aborted';
    }
    const failure: TurnFailure = { ...describe(error), cutOff: answer !== '', retries, waitedMs };
    keep({ turnId: turn.id, role: 'error', ...failure });
    turn.emit({ type: 'error', ...of, ...failure });
    return 'failed';
  }
}

/** What is left of a wait in which the process before this one ended. */
async function waitForTheRest({ turn, retry }: TurnInput, { wait }: TurnProgress): Promise<void> {
  if (wait === undefined) return;
  const { conversationId, turnId, attempt } = wait.retry;
  const delayMs = Math.max(0, wait.dueAtMs - Date.now());
  turn.emit({ ...wait.retry, delayMs });
  try {
    await retry.sleep(delayMs, turn.signal);
  } finally {
    const outcome = turn.signal.aborted ? 'cancelled' : 'retrying';
    turn.emit({ type: 'provider-retry-end', conversationId, turnId, attempt, outcome });
  }
}

/** `retried`: how many of its retries were before, in another process. */
function answerStream(
  { turn, history, provider, retry }: TurnInput,
  retried: number,
): ReturnType<typeof retryStream<OpenAI.ChatCompletionChunk>> {
  // Its own retries are off: there must be one place that waits, and it must say so.
  const client = new OpenAI({ baseURL: provider.url, apiKey: 'none-needed', maxRetries: 0 });
  const messages = history.flatMap((entry) =>
    entry.role === 'user' || entry.role === 'assistant' ? [{ role: entry.role, content: entry.text }] : [],
  );
  return retryStream({
    adapter: openaiChat,
    retry: { delayFor: (attempt) => retry.delayFor(attempt + retried), sleep: retry.sleep },
    conversationId: turn.conversationId,
    turnId: turn.id,
    signal: turn.signal,
    open: ({ signal }) =>
      client.chat.completions.create(
        { model: 'local', messages, stream: true },
        { signal, headers: { 'x-turn-id': turn.id } },
      ),
  });
}

function describe(error: unknown): { readonly message: string; readonly code?: string } {
  const message = error instanceof Error ? error.message : String(error);
  const { status, code } = error as { readonly status?: unknown; readonly code?: unknown };
  if (typeof status === 'number') return { message, code: String(status) };
  return typeof code === 'string' ? { message, code } : { message };
}
