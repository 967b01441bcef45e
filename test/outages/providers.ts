import type { SeededRandom } from '../simulation/seeded-random.ts';

/** One call of a provider. Times are in milliseconds since it was first called. */
interface ProviderCall {
  readonly atMs: number;
  /** How often this message has called before. */
  readonly before: number;
  readonly random: SeededRandom;
}

/** What a call comes to: an error, or nothing when it succeeds; `hangs`: it does not come back. */
type CallResult = { readonly error: Error } | 'hangs' | undefined;

/** How something that a handler calls behaves. */
export interface Provider {
  readonly name: string;
  /** When it has recovered; 0: it is never down for good. */
  readonly recoversAtMs: number;
  call(call: ProviderCall): CallResult;
}

/** It begins so long after the first message. */
const DOWN_FROM_MS = 5_000;

const refused = (): CallResult => ({ error: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) });
const answered = (status: number, headers: Record<string, string> = {}): CallResult => ({
  error: Object.assign(new Error(`answered ${status}`), { status, headers }),
});

/** The models of the table, for an outage of this length. */
export function providers(downMs: number): readonly Provider[] {
  const recoversAtMs = DOWN_FROM_MS + downMs;
  const isDown = (atMs: number): boolean => atMs >= DOWN_FROM_MS && atMs < recoversAtMs;
  return [
    { name: 'refuses connections', recoversAtMs, call: ({ atMs }) => (isDown(atMs) ? refused() : undefined) },
    { name: 'answers 500', recoversAtMs, call: ({ atMs }) => (isDown(atMs) ? answered(500) : undefined) },
    {
      name: 'answers 429 with Retry-After',
      recoversAtMs,
      call: ({ atMs }) =>
        isDown(atMs) ? answered(429, { 'retry-after': String(Math.ceil((recoversAtMs - atMs) / 1_000)) }) : undefined,
    },
    { name: 'hangs beyond the time limit', recoversAtMs, call: ({ atMs }) => (isDown(atMs) ? 'hangs' : undefined) },
    {
      name: 'answers 503 to 30 % of calls',
      recoversAtMs: 0,
      call: ({ random }) => (random.chance(0.3) ? answered(503) : undefined),
    },
    {
      name: 'refuses the first call of each message',
      recoversAtMs: 0,
      call: ({ before }) => (before === 0 ? refused() : undefined),
    },
  ];
}
