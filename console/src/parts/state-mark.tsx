import type { ReactElement } from 'react';

/** The colour a state is shown in; the words are in `WORDS`. */
type Tone = 'pending' | 'flight' | 'retry' | 'ok' | 'failed' | 'parked' | 'gone';

const SHAPES: Readonly<Record<Tone, ReactElement>> = {
  pending: <circle cx="6" cy="6" r="4" fill="none" />,
  flight: (
    <>
      <circle cx="6" cy="6" r="4" fill="none" />
      <path className="fill" d="M6 2a4 4 0 0 1 0 8z" />
    </>
  ),
  retry: (
    <>
      <circle cx="6" cy="6" r="4" fill="none" />
      <path d="M6 3.8V6l1.6 1" fill="none" />
    </>
  ),
  ok: (
    <>
      <circle className="fill" cx="6" cy="6" r="4.7" />
      <path className="on" d="M3.9 6.2l1.5 1.5 2.8-3.2" fill="none" />
    </>
  ),
  failed: (
    <>
      <circle className="fill" cx="6" cy="6" r="4.7" />
      <path className="on" d="M4.4 4.4l3.2 3.2M7.6 4.4L4.4 7.6" fill="none" />
    </>
  ),
  parked: (
    <>
      <circle className="fill" cx="6" cy="6" r="4.7" />
      <path className="on" d="M4.8 4.2v3.6M7.2 4.2v3.6" fill="none" />
    </>
  ),
  gone: (
    <>
      <circle cx="6" cy="6" r="4" fill="none" />
      <path d="M4 6h4" fill="none" />
    </>
  ),
};

const WORDS: Readonly<Record<string, readonly [Tone, string]>> = {
  // Messages and deliveries
  pending: ['pending', 'Pending'],
  ready: ['pending', 'Pending'],
  in_flight: ['flight', 'In flight'],
  running: ['flight', 'In flight'],
  scheduled: ['pending', 'Scheduled'],
  retrying: ['retry', 'Retry wait'],
  waiting: ['retry', 'Retry wait'],
  delivered: ['ok', 'Delivered'],
  failed: ['failed', 'Failed'],
  parked: ['parked', 'Parked'],
  discarded: ['gone', 'Discarded'],
  cancelled: ['gone', 'Cancelled'],
  // Dead letters
  replaying: ['flight', 'Replaying'],
  replayed: ['ok', 'Replayed'],
  // Groups
  open: ['failed', 'Open'],
  resolved: ['ok', 'Resolved'],
  ignored: ['gone', 'Ignored'],
  // Bulk operations
  planned: ['pending', 'Planned'],
  canary: ['flight', 'Canary'],
  paused: ['parked', 'Paused'],
  done: ['ok', 'Done'],
  selected: ['pending', 'Not begun'],
  started: ['flight', 'Started'],
  succeeded: ['ok', 'Succeeded'],
  skipped: ['gone', 'Skipped'],
  dropped: ['gone', 'Dropped'],
  // Breakers
  'breaker-open': ['failed', 'Open'],
  closed: ['ok', 'Closed'],
  probing: ['retry', 'Probing'],
  // Handlers
  on: ['ok', 'On'],
  'no-worker': ['failed', 'No worker'],
  retired: ['gone', 'Retired'],
  // Idempotency and commands
  processing: ['flight', 'In flight'],
  completed: ['ok', 'Completed'],
  unknown: ['parked', 'Unknown'],
  idle: ['pending', 'Idle'],
  queued: ['pending', 'Queued'],
  retry_wait: ['retry', 'Retry wait'],
  blocked: ['parked', 'Blocked'],
  dlq: ['failed', 'Dead letter'],
  // Findings and outcomes
  ok: ['ok', 'Well'],
  warning: ['retry', 'Warning'],
  problem: ['failed', 'Problem'],
};

/** A state: its drawing, its colour and its word. `word` says it otherwise. */
export function StateMark({
  state,
  word,
}: {
  readonly state: string;
  readonly word?: string | undefined;
}): ReactElement {
  const [tone, usual] = WORDS[state] ?? ['pending', state];
  return (
    <span className={`state tone-${tone}`}>
      <StateGlyph state={state} />
      {word ?? usual}
    </span>
  );
}

/** The drawing of a state alone; its word must stand beside it. */
export function StateGlyph({ state }: { readonly state: string }): ReactElement {
  return (
    <svg className={`glyph tone-${toneOf(state)}`} viewBox="0 0 12 12" aria-hidden="true">
      {SHAPES[toneOf(state)]}
    </svg>
  );
}

/** The colour of a state alone, for a drawing whose words stand elsewhere. */
export function toneOf(state: string): Tone {
  return (WORDS[state] ?? ['pending'])[0];
}

/** The word of a state alone. */
export function wordOf(state: string): string {
  return (WORDS[state] ?? ['pending', state])[1];
}
