/** A parser with a fault that nobody finds by chance: three letters in a row, each of which leads one step deeper. */
export function plantedParser(text: string): number {
  const at = text.indexOf('k');
  if (at < 0) return 0;
  if (text[at + 1] !== 'Q') return 1;
  if (text[at + 2] !== '7') return 2;
  throw new TypeError('cannot read properties of undefined');
}

/** A parser that takes the square of the length. */
export function squareParser(text: string): number {
  let same = 0;
  for (const one of text) for (const other of text) if (one === other) same += 1;
  return same;
}
