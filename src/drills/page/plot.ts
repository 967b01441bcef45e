import { type Html, html } from './escape-html.ts';
import { roundUp } from './figures.ts';

/** One line of a drawing: a value for each step, in the same places. */
interface Line {
  readonly name: string;
  /** A colour of the page, by its name. */
  readonly tone: string;
  readonly values: readonly number[];
  /** What is below it is filled. */
  readonly isFilled?: boolean;
}

/** A vertical mark, from 0 to 1 of the width. */
export interface PlotMark {
  readonly at: number;
  readonly width: number;
  readonly label: string | undefined;
  readonly title: string;
}

/** What is drawn. */
export interface Plot {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly marks: readonly PlotMark[];
  /** What the height of the drawing means, for its top. */
  readonly unit: (value: number) => string;
  /** Below the drawing, from left to right. */
  readonly times: readonly string[];
}

const WIDTH = 1_000;
const HEIGHT = 200;
/** Labels that are closer than this, of the width, would overlap on a phone. */
const LABEL_GAP = 0.045;
const MOST_ROWS = 4;
const ROW_PX = 18;

/**
 * A drawing of lines over time. Shapes stretch with the page and texts do not: they stand beside the picture and not in it, so that they can
 * be read on a phone.
 */
export function plot({ title, lines, marks, unit, times }: Plot): Html {
  const most = roundUp(Math.max(1, ...lines.flatMap(({ values }) => [...values])));
  const rows = labelRows(marks);
  const rowCount = Math.max(0, ...rows) + 1;
  const legend = lines.map(
    ({ name, tone }) => html`<span class="key"><i style="background: var(--${tone})"></i>${name}</span>`,
  );
  return html`<figure>
    <figcaption>
      <h2>${title}</h2>
      <span class="keys">${legend}</span>
    </figcaption>
    <div class="plot" style="--rows: ${rowCount}">
      <span class="top">${unit(most)}</span>
      ${marks.map((mark, at) => markOf(mark, rows[at] ?? 0))}
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
        <path class="grid" d="M0 ${HEIGHT / 2}H${WIDTH}M0 0.5H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}" />
        ${lines.map((line) => lineOf(line, most))}
      </svg>
    </div>
    <div class="times">${times.map((time) => html`<span>${time}</span>`)}</div>
  </figure>`;
}

function lineOf({ tone, values, isFilled = false }: Line, most: number): Html {
  const last = Math.max(1, values.length - 1);
  const places = values.map(
    (value, at) => `${place((at / last) * WIDTH)} ${place(HEIGHT - (value / most) * (HEIGHT - 2) - 1)}`,
  );
  const way = `M${places.join('L')}`;
  const area = isFilled
    ? html`<path d="${way}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z" fill="var(--${tone})" opacity="0.14" />`
    : html``;
  return html`${area}<path d="${way}" class="line" stroke="var(--${tone})" />`;
}

/** The row of each label, from above: the first in which nothing is in its way. */
function labelRows(marks: readonly PlotMark[]): readonly number[] {
  const ends: number[] = [];
  return marks.map(({ at }) => {
    const free = Array.from({ length: MOST_ROWS }, (_, row) => row).find(
      (row) => at - (ends[row] ?? -1) >= LABEL_GAP || ends[row] === undefined,
    );
    const row = free ?? ends.indexOf(Math.min(...ends));
    ends[row] = at;
    return row;
  });
}

function markOf({ at, width, label, title }: PlotMark, row: number): Html {
  const style = `left: ${place(at * 100)}%; width: ${place(width * 100)}%`;
  return html`<span class="mark" style="${style}" title="${title}"
    >${label === undefined ? html`` : html`<b style="top: ${row * ROW_PX - 8}px">${label}</b>`}</span
  >`;
}

function place(value: number): string {
  return String(Math.round(value * 10) / 10);
}
