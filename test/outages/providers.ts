import type { SeededRandom } from '../simulation/seeded-random.ts';

/** One call of a provider. Times are in milliseconds since it was first called. */
interface ProviderCall {
  readonly atMs: number;
  /** How often this message has called before. */
  readonly before: number;
  readonly random: SeededRandom;
}

/** What a call comes to: an error, or how long it takes until it succeeds; `hangs`: it does not come back. */
type CallResult = { readonly error: Error } | { readonly tookMs: number } | 'hangs';

/** How something that a handler calls behaves. */
export interface Provider {
  readonly name: string;
  /** When it has recovered; 0: it never does. */
  readonly recoversAtMs: number;
  /** How many calls of a message fail on average before one succeeds; Infinity: none succeeds before it has recovered. */
  readonly failuresEach: number;
  call(call: ProviderCall): CallResult;
}

/** It begins so long after the first message. */
const DOWN_FROM_MS = 5_000;

const ok: CallResult = { tookMs: 5 };
const refused = (): CallResult => ({ error: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) });
const answered = (status: number, headers: Record<string, string> = {}): CallResult => ({
  error: Object.assign(new Error(`answered ${status}`), { status, headers }),
});

/** The models of the table, for an outage of this length. */
export function providers(downMs: number): readonly Provider[] {
  const recoversAtMs = DOWN_FROM_MS + downMs;
  const whileDown = (name: string, failuresEach: number, call: (one: ProviderCall) => CallResult): Provider => ({
    name,
    recoversAtMs,
    failuresEach,
    call: (one) => (one.atMs >= DOWN_FROM_MS && one.atMs < recoversAtMs ? call(one) : ok),
  });
  return [
    whileDown('refuses connections', Infinity, refused),
    whileDown('answers 500', Infinity, () => answered(500)),
    whileDown('answers 429 with Retry-After', Infinity, ({ atMs }) =>
      answered(429, { 'retry-after': String(Math.ceil((recoversAtMs - atMs) / 1_000)) }),
    ),
    whileDown('hangs beyond the time limit', Infinity, () => 'hangs'),
    whileDown('answers 503 to 80 % of calls', 4, ({ random }) => (random.chance(0.8) ? answered(503) : ok)),
    whileDown('takes 1.5 s for each call', 0, () => ({ tookMs: 1_500 })),
    {
      name: 'answers 503 to 30 % of calls',
      recoversAtMs: 0,
      failuresEach: 3 / 7,
      call: ({ random }) => (random.chance(0.3) ? answered(503) : ok),
    },
    {
      name: 'refuses the first call of each message',
      recoversAtMs: 0,
      failuresEach: 1,
      call: ({ before }) => (before === 0 ? refused() : ok),
    },
  ];
}
