/** How many deliveries a destination may have at once, as one process sees it. */
export interface WidthState {
  readonly width: number;
  /** Up to here it grows by one with each that goes well; above, by one with each round of them. */
  readonly calm: number;
}

export const MAX_WIDTH = 64;

// Enough for a destination nobody knows yet, few enough to find out that it does not answer.
export const FIRST_WIDTH: WidthState = { width: 8, calm: MAX_WIDTH };

/** As many as before, and more: it went well. */
export function grown({ width, calm }: WidthState): WidthState {
  return { width: Math.min(MAX_WIDTH, width + (width < calm ? 1 : 1 / width)), calm };
}

/** Half as many: it is overloaded, or away. */
export function halved({ width }: WidthState): WidthState {
  const half = Math.max(1, width / 2);
  return { width: half, calm: Math.max(2, half) };
}

/** One after the other at first: it was away until now. */
export function begunAnew({ calm }: WidthState): WidthState {
  return { width: 1, calm };
}
