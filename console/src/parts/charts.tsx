import { type ReactElement, type RefObject, useEffect, useRef, useState } from 'react';

/** A line of a few figures, without axes: only how it went. The figure itself stands beside it. */
export function Spark({
  values,
  tone = 'accent',
}: {
  readonly values: readonly number[];
  readonly tone?: string;
}): ReactElement {
  const top = Math.max(...values, 1);
  const step = 100 / Math.max(values.length - 1, 1);
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${(22 - (value / top) * 20).toFixed(1)}`);
  return (
    <svg className={`spark line-${tone}`} viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path className="area" d={`M0,24 L${points.join(' L')} L100,24 Z`} />
      <polyline points={points.join(' ')} />
    </svg>
  );
}

/** A bar for each hour of a day. */
export function TrendBars({
  values,
  label,
}: {
  readonly values: readonly number[];
  readonly label: string;
}): ReactElement {
  const top = Math.max(...values, 1);
  return (
    <svg
      className="trend"
      viewBox={`0 0 ${values.length * 4} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {values.map((value, at) => {
        const height = value === 0 ? 1 : 2 + (value / top) * 18;
        return (
          <rect
            key={at}
            className={value === 0 ? 'nothing' : ''}
            x={at * 4 + 0.5}
            y={20 - height}
            width={3}
            height={height}
          />
        );
      })}
    </svg>
  );
}

/** The width of an element, as it is laid out. */
export function useWidth(): readonly [RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? 0)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}
