/** Numbers as the text of an array: `$1::text::int[]`. Nothing in them needs quotes. */
export function numberList(numbers: Iterable<number>): string {
  return `{${[...numbers].join(',')}}`;
}
