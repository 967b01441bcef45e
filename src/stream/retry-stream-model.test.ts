import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  EMPTY,
  END,
  OVERLOADED,
  PING,
  scriptAdapter,
  type ScriptEvent,
  scriptedStream,
  type ScriptStep,
  START,
  text,
  USAGE,
} from '../../test/support/scripted-stream.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { isProviderRetryEvent, retryStream, type RetryStreamEvent } from './index.ts';

const FINAL: ScriptEvent = { type: 'error', message: 'bad request', retryable: false };
const MAX_RETRIES = 4;

/** Scripts as providers play them: some preamble, perhaps content, then one of the ways a stream can end. */
const script = fc
  .tuple(
    fc.array(fc.constantFrom<ScriptEvent>(START, EMPTY, PING, USAGE), { maxLength: 5 }),
    fc.array(
      fc.oneof(fc.string({ minLength: 1, maxLength: 3 }).map(text), fc.constantFrom<ScriptEvent>(EMPTY, PING, USAGE)),
      {
        maxLength: 4,
      },
    ),
    fc.constantFrom<'end' | 'throw' | 'refuse' | 'overloaded' | 'final' | 'truncate'>(
      'end',
      'throw',
      'refuse',
      'overloaded',
      'final',
      'truncate',
    ),
  )
  .map(([preamble, content, how]): ScriptStep[] => (preamble as ScriptStep[]).concat(content, lastStep(how)));

function lastStep(how: string): ScriptStep[] {
  switch (how) {
    case 'end':
      return [END];
    case 'throw':
      return [new Error('socket hang up')];
    case 'refuse':
      return [Object.assign(new Error('unauthorized'), { status: 401 })];
    case 'overloaded':
      return [OVERLOADED];
    case 'final':
      return [FINAL];
    default:
      return [];
  }
}

interface Expected {
  readonly opens: number;
  readonly chunks: readonly ScriptEvent[];
  /** What is thrown at the end; `'truncated'` for our own error. */
  readonly thrown: unknown;
}

/** The requirement, played on paper: which attempt's chunks the consumer gets, and how it ends. */
function expected(scripts: readonly (readonly ScriptStep[])[]): Expected {
  const pings: ScriptEvent[] = [];
  for (let attempt = 0; ; attempt++) {
    const steps = scripts[Math.min(attempt, scripts.length - 1)] ?? [];
    const events = steps.filter((step): step is ScriptEvent => !(step instanceof Error) && step !== 'hang');
    const last = steps.at(-1);
    const ends = last === END;
    const hasContent = events.some((event) => event.type === 'text' && event.text !== '');
    const status = last instanceof Error ? (last as { status?: number }).status : undefined;
    const retryable = !ends && last !== FINAL && status === undefined;
    if (!hasContent && retryable && attempt < MAX_RETRIES) {
      pings.push(...events.filter((event) => event === PING));
      continue;
    }
    const thrown =
      last instanceof Error ? last : ends || last === FINAL || last === OVERLOADED ? undefined : 'truncated';
    return { opens: attempt + 1, chunks: [...pings, ...events], thrown };
  }
}

const withoutPings = (chunks: readonly ScriptEvent[]): ScriptEvent[] => chunks.filter((chunk) => chunk !== PING);
const countPings = (chunks: readonly ScriptEvent[]): number => chunks.length - withoutPings(chunks).length;

test('any script: content never twice, no retry after it, one preamble, as many events as retries [S2.2] [S2.3] [F.23] [F.24]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 7 }), async (scripts) => {
      const source = scriptedStream(...scripts);
      const chunks: ScriptEvent[] = [];
      const events: RetryStreamEvent[] = [];
      let contentSeen = false;
      let openedAfterContent = false;
      let thrown: unknown;
      const stream = retryStream({
        open: (context) => {
          openedAfterContent ||= contentSeen;
          return source.open(context);
        },
        adapter: scriptAdapter,
        conversationId: 'c',
        turnId: 't',
        retry: { delayFor: (n) => (n < MAX_RETRIES ? n : undefined), sleep: () => Promise.resolve() },
      });
      try {
        for await (const item of stream) {
          if (item.type === 'provider-retry' || item.type === 'provider-retry-end') {
            events.push(item);
            continue;
          }
          chunks.push(item);
          contentSeen ||= item.type === 'text' && item.text !== '';
        }
      } catch (error) {
        thrown = isHoldfastError(error, 'STREAM_TRUNCATED') ? 'truncated' : error;
      }
      const want = expected(scripts);
      expect(openedAfterContent).toBe(false);
      expect(source.attempts).toHaveLength(want.opens);
      expect(thrown).toBe(want.thrown);
      // Pings may overtake what is held back, nothing else changes its place.
      expect(withoutPings(chunks)).toEqual(withoutPings(want.chunks));
      expect(countPings(chunks)).toBe(countPings(want.chunks));
      expect(events.filter(isProviderRetryEvent).map(({ attempt }) => attempt)).toEqual(
        Array.from({ length: want.opens - 1 }, (_, n) => n),
      );
      expect(events).toHaveLength(2 * (want.opens - 1));
    }),
    { numRuns: 300 },
  );
});
