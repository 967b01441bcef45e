import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { clock, duration, exact } from '../parts/span-of-time.ts';

type Entry = Extract<Answer<'trace'>, { kind: 'trace' }>['entries'][number];

const STEPS: Readonly<Record<Entry['step'], string>> = {
  request: 'request',
  idempotency: 'key',
  call: 'call',
  note: 'note',
  sent: 'sent',
  received: 'received',
  retry: 'retry',
  dead: 'dead',
  handled: 'handled',
  discarded: 'discarded',
  cancelled: 'cancelled',
  'by-hand': 'by hand',
  command: 'command',
  open: 'left to do',
};

const TONES: Readonly<Record<string, string>> = { ok: 'ok', failed: 'failed', waiting: 'retry' };

interface Span {
  readonly entry: Entry;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A handler's time is that of its end; of all others, of their beginning. */
function spanOf(entry: Entry): Span {
  const atMs = Date.parse(entry.at);
  const took = entry.durationMs ?? 0;
  const endsAt = entry.step === 'handled';
  return { entry, fromMs: endsAt ? atMs - took : atMs, toMs: endsAt ? atMs : atMs + took };
}

/** Gaps longer than this share of all the rest are cut short: a retry an hour later must not make all else a dot. */
function placeOf(spans: readonly Span[]): (ms: number) => number {
  const times = [...new Set(spans.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].toSorted((a, b) => a - b);
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time));
  const sorted = gaps.toSorted((a, b) => a - b);
  const longest = Math.max((sorted[Math.floor(sorted.length * 0.7)] ?? 0) * 4, 1);
  const at = new Map<number, number>();
  let sum = 0;
  times.forEach((time, index) => {
    sum += index === 0 ? 0 : Math.min(gaps[index - 1] ?? 0, longest);
    at.set(time, sum);
  });
  return (ms) => (sum === 0 ? 0 : ((at.get(ms) ?? 0) / sum) * 100);
}

/** Each step in the order of time, with a bar where and how long it was. */
export function Waterfall({ entries }: { readonly entries: readonly Entry[] }): ReactElement {
  const spans = entries.map((entry) => spanOf(entry));
  const place = placeOf(spans);
  const beginMs = Math.min(...spans.map(({ fromMs }) => fromMs));
  return (
    <ol className="waterfall" aria-label="Steps">
      {spans.map((span, at) => (
        <StepLine
          key={at}
          span={span}
          from={place(span.fromMs)}
          to={place(span.toMs)}
          sinceMs={span.fromMs - beginMs}
        />
      ))}
    </ol>
  );
}

function StepLine({
  span,
  from,
  to,
  sinceMs,
}: {
  readonly span: Span;
  readonly from: number;
  readonly to: number;
  readonly sinceMs: number;
}): ReactElement {
  const { entry } = span;
  const { step, service, detail, outcome, durationMs, at } = entry;
  const tone = TONES[outcome ?? ''] ?? 'pending';
  return (
    <li className={`tone-${tone}`}>
      <div className="fall-words">
        <span className="fall-step">{STEPS[step]}</span>
        <span className="fall-what">
          <What entry={entry} />
          {service === undefined ? null : <span className="muted"> {service}</span>}
          {detail === undefined ? null : <bdi className="muted block-text">{detail}</bdi>}
        </span>
      </div>
      <div className="fall-bar" title={exact(at)}>
        <svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
          <rect x={Math.min(from, 99.2)} width={Math.max(to - from, 0.8)} y="2" height="8" rx="0.5" />
        </svg>
        <span className="fall-time">
          <span className="muted">{clock(at)}</span> +{duration(sinceMs)}
          {durationMs === undefined ? '' : `, ${duration(durationMs)}`}
        </span>
      </div>
    </li>
  );
}

function What({ entry }: { readonly entry: Entry }): ReactElement {
  const { what, ids } = entry;
  const id = ids['eventId'] ?? ids['commandId'];
  const text = <bdi>{what}</bdi>;
  if (id === undefined) return text;
  return (
    <Link to="/messages/$id" params={{ id }}>
      {text}
    </Link>
  );
}
