/** An edit with what was hidden put back. */
export interface Restored {
  readonly value: unknown;
  /** How many hidden values were left alone, and are again what they were. */
  readonly kept: number;
}

/**
 * An edit of what was shown: what stands as it was shown at its place is again what it was in `whole`. An item of a list that was not
 * changed is known by what it shows; one that was changed is where it was, if the list is as long as before and nothing else is it. Where
 * that does not tell, what stands for a hidden value stays as it is: look whether any is left.
 */
export function restoreHidden(edited: unknown, shown: unknown, whole: unknown): Restored {
  let kept = 0;
  const put = (value: unknown, seen: unknown, was: unknown): unknown => {
    if (Array.isArray(value)) {
      if (!Array.isArray(seen) || !Array.isArray(was)) return value;
      const places = placesOf(value, seen);
      return value.map((one: unknown, i) => {
        const place = places[i];
        return place === undefined ? one : put(one, seen[place], was[place]);
      });
    }
    if (isObject(value)) {
      if (!isObject(seen) || !isObject(was)) return value;
      const fields = Object.entries(value).map(([name, one]): [string, unknown] => [
        name,
        Object.hasOwn(seen, name) && Object.hasOwn(was, name) ? put(one, seen[name], was[name]) : one,
      ]);
      return Object.fromEntries(fields);
    }
    if (value !== seen || was === seen) return value;
    kept += 1;
    return was;
  };
  return { value: put(edited, shown, whole), kept };
}

/** How often a text that stands for what is hidden is in a value. */
export function timesIn(value: unknown, placeholder: string): number {
  return (JSON.stringify(value) ?? '').split(placeholder).length - 1;
}

/**
 * Where each item was. Of those that look alike, all or none where the list is longer or shorter than it was: with one of them taken out,
 * nothing tells which it was.
 */
function placesOf(edited: readonly unknown[], shown: readonly unknown[]): readonly (number | undefined)[] {
  const now = edited.map((one) => JSON.stringify(one));
  const before = shown.map((one) => JSON.stringify(one));
  const placesByText = Map.groupBy(before.keys(), (place) => before[place] ?? '');
  const countByText = Map.groupBy(now, (text) => text);
  const met = new Map<string, number>();
  const isSameLength = edited.length === shown.length;
  return now.map((text, i) => {
    if (isSameLength && before[i] === text) return i;
    const places = placesByText.get(text);
    if (places === undefined) return isSameLength && !countByText.has(before[i] ?? '') ? i : undefined;
    if (places.length !== countByText.get(text)?.length) return undefined;
    const nth = met.get(text) ?? 0;
    met.set(text, nth + 1);
    return places[nth];
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
