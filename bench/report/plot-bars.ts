import { formatPlace, formatRatio, formatValue } from '../result/format.ts';
import type { Contestant } from '../result/result.ts';
import type { Claim } from './claims.ts';
import { escapeHtml } from './escape.ts';

/** A bar for each contestant, as long as its value, with the range of its rounds; under its place where it has one. */
export function plotBars(contestants: readonly Contestant[]): string {
  const most = Math.max(...contestants.map(({ value, spread }) => Math.max(value, spread?.[1] ?? 0)), 0);
  const places = [...new Set(contestants.map(({ at }) => at))];
  const parts = places.flatMap((place) => {
    const bars = contestants.filter(({ at }) => at === place).map((one) => barOf(one, most));
    return place === undefined ? bars : [`<div class="place">${escapeHtml(formatPlace(place))}</div>`].concat(bars);
  });
  return `<figure>${parts.join('\n')}</figure>`;
}

function barOf({ name, role, value, unit, spread }: Contestant, most: number): string {
  const number = formatValue(value, unit);
  const range = spread === undefined ? '' : `, ${formatValue(spread[0], unit)} to ${formatValue(spread[1], unit)}`;
  const share = (of: number): string => percent(most > 0 ? Math.max(0, of) / most : 0);
  const whisker = spread === undefined ? '' : whiskerOf(share(spread[0]), share(spread[1]));
  return row(
    role,
    name,
    number,
    `<title>${escapeHtml(`${name}: ${number}${range}`)}</title><rect class="fill-${role}" width="${share(value)}" height="100%" rx="2"/>${whisker}`,
  );
}

/** On bars of any colour: a light line under the dark one. */
function whiskerOf(from: string, to: string): string {
  const line = (kind: string): string => `<line class="${kind}" x1="${from}" x2="${to}" y1="50%" y2="50%"/>`;
  const ends = [from, to].map((x) => `<line class="whisker" x1="${x}" x2="${x}" y1="25%" y2="75%"/>`);
  return `${line('halo')}${line('whisker')}${ends.join('')}`;
}

/** Ours against each of the others around a line at 1, by the logarithm: twice and half as fast are equally far from it. */
export function plotClaims(claims: readonly Claim[]): string {
  const reach = Math.max(...claims.map(({ ratio }) => Math.abs(Math.log2(ratio))), 1);
  const bars = claims.map(({ measure, against, ratio }) => {
    const end = 0.5 + Math.log2(ratio) / reach / 2;
    const [from, to] = [Math.min(end, 0.5), Math.max(end, 0.5)];
    const kind = ratio < 1 ? 'slower' : 'faster';
    const label = `${formatRatio(ratio)} ×`;
    const drawn = `<title>${escapeHtml(`${measure}: ${label} ${against}`)}</title><rect class="${kind}" x="${percent(from)}" width="${percent(to - from)}" height="100%" rx="2"/><line class="one" x1="50%" x2="50%" y1="-4" y2="20"/>`;
    return row('claim', measure, label, drawn, against);
  });
  return `<figure class="claims">${bars.join('\n')}</figure>`;
}

function row(kind: string, name: string, number: string, drawn: string, under = ''): string {
  const small = under === '' ? '' : ` <span class="muted small">against ${escapeHtml(under)}</span>`;
  return `<div class="bar ${kind}"><span class="name">${escapeHtml(name)}${small}</span><svg role="img" aria-label="${escapeHtml(`${name}: ${number}`)}">${drawn}</svg><span class="number">${escapeHtml(number)}</span></div>`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}
