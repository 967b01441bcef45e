import { type ReactElement, useState } from 'react';
import type { Answer } from '../api/wire.ts';
import { useWidth } from '../parts/charts.tsx';
import { count } from '../parts/figures.ts';
import { duration, exact } from '../parts/span-of-time.ts';

type Point = Answer<'overview'>['points'][number];

const HEIGHT = 160;
const LEFT = 36;
const FOOT = 20;

/** The next of 1, 2, 5, 10, … that is not smaller: a top of the scale that can be read. */
function niceTop(value: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= value) ?? value;
}

interface Scale {
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
  readonly bar: number;
  readonly top: number;
}

function scaleOf(points: readonly Point[], width: number): Scale {
  const top = niceTop(
    Math.max(...points.map(({ sent, done, retried, dead }) => Math.max(sent, done + retried + dead)), 1),
  );
  const step = Math.max(width - LEFT, 1) / Math.max(points.length, 1);
  return {
    x: (at) => LEFT + at * step,
    y: (value) => HEIGHT - FOOT - (value / top) * (HEIGHT - FOOT - 8),
    bar: Math.max(step - Math.min(2, step * 0.25), 0.5),
    top,
  };
}

/** What came in, was done, was tried again and failed for good, over time. The same is in a table for who cannot see it. */
export function FlowChart({
  points,
  stepMs,
}: {
  readonly points: readonly Point[];
  readonly stepMs: number;
}): ReactElement {
  const [box, width] = useWidth();
  const [at, setAt] = useState<number>();
  const scale = scaleOf(points, width);
  const shown = at === undefined ? undefined : points[at];
  return (
    <section className="block chart" aria-label="In, out and failed over time">
      <header>
        <h2>Flow</h2>
        <Legend point={shown} stepMs={stepMs} />
      </header>
      <div
        ref={box}
        className="chart-box"
        onPointerMove={(event) => {
          const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
          const found = Math.floor((x / Math.max(width - LEFT, 1)) * points.length);
          setAt(found >= 0 && found < points.length ? found : undefined);
        }}
        onPointerLeave={() => setAt(undefined)}
      >
        <svg width={width} height={HEIGHT} role="img" aria-label={summary(points)}>
          <Grid scale={scale} width={width} points={points} />
          {points.map((point, index) => (
            <Bars key={point.at} point={point} x={scale.x(index)} scale={scale} isLit={index === at} />
          ))}
          <polyline
            className="line-in"
            points={points.map((point, index) => `${scale.x(index) + scale.bar / 2},${scale.y(point.sent)}`).join(' ')}
          />
        </svg>
      </div>
    </section>
  );
}

function summary(points: readonly Point[]): string {
  const total = (of: (point: Point) => number): string => count(points.reduce((all, point) => all + of(point), 0));
  return `In all ${total((p) => p.sent)} in, ${total((p) => p.done)} out, ${total((p) => p.retried)} tried again, ${total((p) => p.dead)} failed for good.`;
}

const value = (of: number | undefined): string => (of === undefined ? '' : ` ${count(of)}`);

function Legend({ point, stepMs }: { readonly point: Point | undefined; readonly stepMs: number }): ReactElement {
  return (
    <p className="legend">
      <span className="key-in">in{value(point?.sent)}</span>
      <span className="key-done">done{value(point?.done)}</span>
      <span className="key-retried">tried again{value(point?.retried)}</span>
      <span className="key-dead">failed{value(point?.dead)}</span>
      <span className="muted">{point === undefined ? `each ${duration(stepMs)}` : exact(point.at)}</span>
    </p>
  );
}

function Bars({
  point,
  x,
  scale,
  isLit,
}: {
  readonly point: Point;
  readonly x: number;
  readonly scale: Scale;
  readonly isLit: boolean;
}): ReactElement {
  const { done, retried, dead } = point;
  const bar = (from: number, to: number, name: string): ReactElement | null =>
    to === from ? null : (
      <rect
        className={name}
        x={x}
        width={scale.bar}
        y={scale.y(to)}
        height={Math.max(scale.y(from) - scale.y(to), 1)}
      />
    );
  return (
    <g className={isLit ? 'lit' : ''}>
      {bar(0, done, 'bar-done')}
      {bar(done, done + retried, 'bar-retried')}
      {bar(done + retried, done + retried + dead, 'bar-dead')}
    </g>
  );
}

function Grid({
  scale,
  width,
  points,
}: {
  readonly scale: Scale;
  readonly width: number;
  readonly points: readonly Point[];
}): ReactElement {
  const marks = [0, Math.floor(points.length / 2), points.length - 1];
  const isLong = Date.parse(points.at(-1)?.at ?? '') - Date.parse(points[0]?.at ?? '') > 90_000_000;
  const text = (at: string): string =>
    isLong
      ? new Date(at).toLocaleDateString(undefined, { weekday: 'short', day: 'numeric' })
      : new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
  return (
    <g className="grid" aria-hidden="true">
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line x1={LEFT} x2={width} y1={scale.y(share * scale.top)} y2={scale.y(share * scale.top)} />
          <text x={LEFT - 6} y={scale.y(share * scale.top) + 4} textAnchor="end">
            {share * scale.top < 1 && share > 0 ? '' : count(share * scale.top)}
          </text>
        </g>
      ))}
      {marks.map((at, index) => {
        const point = points[at];
        return point === undefined ? null : (
          <text
            key={at}
            x={scale.x(at)}
            y={HEIGHT - 4}
            textAnchor={index === 0 ? 'start' : index === 1 ? 'middle' : 'end'}
          >
            {text(point.at)}
          </text>
        );
      })}
    </g>
  );
}
