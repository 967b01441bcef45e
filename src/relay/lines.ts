/**
 * How many messages of one key run at once, and whether one that waits for its retry keeps its place. Without it one of a key runs at
 * a time, and waits for nothing but itself.
 */
export interface Lines {
  /**
   * How many of a key run at once, a whole number from 0: none for now. Asked whenever one could start, so it must be quick. `taken`:
   * how many of the handler run in this process, or are about to, of all keys.
   */
  width(key: string, taken: number): number;
  /** One that waits for its retry takes one of the places. False: others take its place, and it comes back in line when it is due. */
  retryHolds(key: string): boolean;
  /** Calls back with each key whose width has grown. Gives what ends that. */
  onChange(listener: (key: string) => void): () => void;
}

/** How many of a key may run at once now. Who cannot say keeps the order. */
export function widthOf(lines: Lines | undefined, key: string, taken: number): number {
  if (!lines) return 1;
  try {
    const width = lines.width(key, taken);
    return width >= 0 ? Math.floor(width) : 1;
  } catch {
    return 1;
  }
}

/** Whether one that is tried again later keeps its place in the line of its key. Who cannot say keeps the order. */
export function retryHolds(lines: Lines | undefined, key: string | undefined): boolean {
  if (key === undefined) return false;
  if (!lines) return true;
  try {
    return lines.retryHolds(key);
  } catch {
    return true;
  }
}
