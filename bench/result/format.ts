import type { Unit } from './result.ts';

const SPACED: Readonly<Record<Unit, string>> = { '/s': '/s', ms: ' ms', ns: ' ns', MB: ' MB', KiB: ' KiB' };

/** `38,214/s`, `2.9 ms`, `372 MB`. */
export function formatValue(value: number, unit: Unit): string {
  return `${formatNumber(value)}${SPACED[unit]}`;
}

/** Whole above ten, one place below: what follows is noise. */
export function formatNumber(value: number): string {
  const digits = Math.abs(value) < 10 && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Two places below ten, one below a hundred. The one rounding of ratios, in every table and claim. */
export function formatRatio(ratio: number): string {
  return ratio.toFixed(ratio >= 100 ? 0 : ratio >= 10 ? 1 : 2);
}

/** Of several, for a table of text or a cell: `least to most`. */
export function formatSpread(spread: readonly [number, number], format: (value: number) => string): string {
  return `${format(spread[0])} to ${format(spread[1])}`;
}

/** A place in a series. */
export function formatPlace(at: number | string): string {
  return typeof at === 'number' ? at.toLocaleString('en') : at;
}

export function perSecond(rate: number): string {
  return formatValue(rate, '/s');
}
