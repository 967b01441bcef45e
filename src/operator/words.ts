/** A number with its noun: `1 dead letter`, `2 dead letters`. */
export function counted(count: number, noun: string, plural: string = `${noun}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`;
}

/** A length of time in words, in the largest unit that fits: `250 ms`, `12 s`, `3 min`, `5 h`, `2 days`. */
export function formatDuration(ms: number): string {
  const length = Math.abs(ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  // Rounded down, as a clock does: "1 min" is said when a whole one has passed.
  if (length < 60_000) return `${Math.floor(length / 1_000)} s`;
  if (length < 3_600_000) return `${Math.floor(length / 60_000)} min`;
  if (length < 2 * 86_400_000) return `${Math.floor(length / 3_600_000)} h`;
  return `${Math.floor(length / 86_400_000)} days`;
}
