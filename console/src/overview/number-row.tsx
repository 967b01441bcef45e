import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { Spark } from '../parts/charts.tsx';
import { count, percent, rate } from '../parts/figures.ts';
import { duration } from '../parts/span-of-time.ts';

type Overview = Answer<'overview'>;
type Point = Overview['points'][number];

interface Figure {
  readonly title: string;
  readonly value: string;
  readonly note: string;
  readonly values: readonly number[];
  readonly tone: string;
  readonly to: string;
}

function sum(points: readonly Point[], of: (point: Point) => number): number {
  return points.reduce((total, point) => total + of(point), 0);
}

function oldestMs({ handlers }: Overview): number | undefined {
  const ages = handlers.flatMap((one) => (one.oldestMs === undefined ? [] : [one.oldestMs]));
  return ages.length === 0 ? undefined : Math.max(...ages);
}

const each = (points: readonly Point[], of: (point: Point) => number): readonly number[] =>
  points.map((point) => of(point));

function figuresOf(overview: Overview): readonly Figure[] {
  const { points, handlers, range } = overview;
  const failed = handlers.reduce((total, one) => total + one.failed, 0);
  const oldest = oldestMs(overview);
  if (points.length === 0) return presentFigures(handlers, oldest, failed);
  return [
    {
      title: 'Oldest waiting',
      value: oldest === undefined ? 'none' : duration(oldest),
      note: 'ready and not begun',
      values: each(points, (point) => point.oldestMs ?? 0),
      tone: 'pending',
      to: '/messages?status=pending',
    },
    ...flowFigures(overview),
    {
      title: 'Dead letters',
      value: count(failed),
      note: `${count(sum(points, (p) => p.dead))} new in the last ${range}`,
      values: each(points, (p) => p.dead),
      tone: 'failed',
      to: '/dead-letters',
    },
    {
      title: 'Repeats suppressed',
      value: count(sum(points, (p) => p.suppressed)),
      note: 'came again, or too late',
      values: each(points, (p) => p.suppressed),
      tone: 'parked',
      to: '/messages',
    },
    {
      title: 'Late results refused',
      value: count(sum(points, (p) => p.refused)),
      note: 'after a lost lease',
      values: each(points, (p) => p.refused),
      tone: 'parked',
      to: '/system',
    },
  ];
}

/** What can be said without a history. */
function presentFigures(handlers: Overview['handlers'], oldest: number | undefined, failed: number): readonly Figure[] {
  const perSecond = handlers.reduce((total, one) => total + one.donePerSecond, 0);
  const [pending, values] = [handlers.reduce((total, one) => total + one.pending, 0), []];
  return [
    {
      title: 'Oldest waiting',
      value: oldest === undefined ? 'none' : duration(oldest),
      note: 'ready and not begun',
      values,
      tone: 'pending',
      to: '/messages?status=pending',
    },
    {
      title: 'Pending',
      value: count(pending),
      note: 'in line',
      values,
      tone: 'pending',
      to: '/messages?status=pending',
    },
    {
      title: 'Out',
      value: `${rate(perSecond)} /s`,
      note: 'in the last five minutes',
      values,
      tone: 'ok',
      to: '/messages?status=delivered',
    },
    {
      title: 'Dead letters',
      value: count(failed),
      note: 'to be dealt with',
      values,
      tone: 'failed',
      to: '/dead-letters',
    },
  ];
}

function flowFigures({ points, stepMs, range }: Overview): readonly Figure[] {
  // The last step is not over yet; the one before it tells the rate.
  const last = points.at(-2) ?? points.at(-1);
  const perSecond = (value: number | undefined): string => `${rate(((value ?? 0) * 1_000) / stepMs)} /s`;
  const ended = sum(points, ({ done, retried, dead }) => done + retried + dead);
  const failures = sum(points, ({ retried, dead }) => retried + dead);
  return [
    {
      title: 'In',
      value: perSecond(last?.sent),
      note: `${count(sum(points, (p) => p.sent))} in the last ${range}`,
      values: each(points, (p) => p.sent),
      tone: 'accent',
      to: '/messages',
    },
    {
      title: 'Out',
      value: perSecond(last?.done),
      note: `${count(sum(points, (p) => p.done))} in the last ${range}`,
      values: each(points, (p) => p.done),
      tone: 'ok',
      to: '/messages?status=delivered',
    },
    {
      title: 'Failure rate',
      value: ended === 0 ? '–' : percent(failures / ended),
      note: `${count(failures)} failed attempts`,
      values: each(points, (p) => p.retried + p.dead),
      tone: 'retry',
      to: '/messages?status=retrying',
    },
  ];
}

/** The few numbers that say how it goes. */
export function NumberRow({ overview }: { readonly overview: Overview }): ReactElement {
  return (
    <ul className="numbers" aria-label="Numbers">
      {figuresOf(overview).map(({ title, value, note, values, tone, to }) => {
        const [path, query = ''] = to.split('?');
        return (
          <li key={title}>
            <Link to={path ?? '/'} search={Object.fromEntries(new URLSearchParams(query))}>
              <span className="number-title">{title}</span>
              <strong>{value}</strong>
              <span className="number-note">{note}</span>
              {values.length === 0 ? null : <Spark values={values} tone={tone} />}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
