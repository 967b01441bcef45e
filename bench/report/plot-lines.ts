import { formatNumber, formatPlace, formatValue } from '../result/format.ts';
import type { Contestant } from '../result/result.ts';
import { escapeHtml } from './escape.ts';

const [WIDTH, HEIGHT] = [480, 220];
const AREA = { left: 56, right: 12, top: 12, bottom: 40 };
/** Ours has the accent; the others follow in this order. */
const COLOURS = ['var(--retry)', 'var(--parked)', 'var(--pending)', 'var(--peer)'];
const STEPS = 4;

/** A line for each contestant over the places of a series, with the range of the rounds at each place. */
export function plotLines(contestants: readonly Contestant[], along: string): string {
  const places = [...new Set(contestants.map(({ at }) => Number(at)))].toSorted((a, b) => a - b);
  const top = niceTop(Math.max(...contestants.map(({ value, spread }) => Math.max(value, spread?.[1] ?? 0)), 1));
  const x = (at: number): number => {
    // By the logarithm, as sizes that grow tenfold want it.
    const [from = 1, to = 1] = [places[0], places.at(-1)].map((place) => Math.log(place ?? 1));
    const share = to === from ? 0.5 : (Math.log(at) - from) / (to - from);
    return AREA.left + share * (WIDTH - AREA.left - AREA.right);
  };
  const y = (value: number): number => HEIGHT - AREA.bottom - (value / top) * (HEIGHT - AREA.top - AREA.bottom);
  const names = [...new Set(contestants.map(({ name }) => name))];
  const colours = coloursOf(contestants, names);
  const lines = names.map((name) => {
    const points = contestants.filter((one) => one.name === name).toSorted((a, b) => Number(a.at) - Number(b.at));
    return lineOf(points, colours.get(name) ?? '', x, y);
  });
  const unit = contestants[0]?.unit ?? '/s';
  const label = `${along}: ${contestants.map((one) => `${one.name} at ${formatPlace(one.at ?? '')} ${formatValue(one.value, one.unit)}`).join(', ')}`;
  return `<figure><svg class="lines" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(label)}">${axes(places, top, unit, along, x, y)}${lines.join('')}</svg>${legend(names, colours)}</figure>`;
}

function coloursOf(contestants: readonly Contestant[], names: readonly string[]): ReadonlyMap<string, string> {
  const ours = new Set(contestants.filter(({ role }) => role === 'ours').map(({ name }) => name));
  const others = names.filter((name) => !ours.has(name));
  return new Map(
    names.map((name) => [
      name,
      ours.has(name) ? 'var(--accent)' : (COLOURS[others.indexOf(name) % COLOURS.length] ?? 'var(--peer)'),
    ]),
  );
}

type Scale = (value: number) => number;

function lineOf(points: readonly Contestant[], colour: string, x: Scale, y: Scale): string {
  const places = points.map(({ at, value }) => `${x(Number(at)).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const marks = points.map(({ at, value, spread, name, unit }) => {
    const [cx, cy] = [x(Number(at)).toFixed(1), y(value).toFixed(1)];
    const range =
      spread === undefined
        ? ''
        : `<line x1="${cx}" x2="${cx}" y1="${y(spread[0]).toFixed(1)}" y2="${y(spread[1]).toFixed(1)}" stroke="${colour}" stroke-width="1.5" opacity="0.6"/>`;
    const told = escapeHtml(`${name} at ${formatPlace(at ?? '')}: ${formatValue(value, unit)}`);
    return `${range}<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colour}"><title>${told}</title></circle>`;
  });
  return `<polyline class="trace" stroke="${colour}" points="${places}"/>${marks.join('')}`;
}

function axes(places: readonly number[], top: number, unit: string, along: string, x: Scale, y: Scale): string {
  const levels = Array.from({ length: STEPS + 1 }, (_, n) => (top / STEPS) * n);
  const rows = levels.map(
    (level) =>
      `<line class="axis" x1="${AREA.left}" x2="${WIDTH - AREA.right}" y1="${y(level).toFixed(1)}" y2="${y(level).toFixed(1)}"/><text x="${AREA.left - 6}" y="${(y(level) + 4).toFixed(1)}" text-anchor="end">${formatNumber(level)}</text>`,
  );
  const columns = places.map((place, n) => {
    const anchor = n === places.length - 1 ? 'end' : n === 0 ? 'start' : 'middle';
    return `<text x="${x(place).toFixed(1)}" y="${HEIGHT - AREA.bottom + 16}" text-anchor="${anchor}">${formatPlace(place)}</text>`;
  });
  const names = `<text x="${WIDTH - AREA.right}" y="${HEIGHT - 6}" text-anchor="end">${escapeHtml(along)}</text><text x="${AREA.left}" y="${HEIGHT - 6}">${escapeHtml(unit === '/s' ? 'a second' : unit)}</text>`;
  return `${rows.join('')}${columns.join('')}${names}`;
}

function legend(names: readonly string[], colours: ReadonlyMap<string, string>): string {
  const entries = names.map(
    (name) => `<span><i style="background:${colours.get(name)}"></i>${escapeHtml(name)}</span>`,
  );
  return `<div class="legend">${entries.join('')}</div>`;
}

/** The next of 1, 2, 4, 6, 8 times a power of ten, so that four steps are round numbers. */
export function niceTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 6, 8, 10].find((step) => step * power >= most) ?? 10) * power;
}
