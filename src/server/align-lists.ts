/**
 * `whole` with the items of its lists at the places that they have in `edited`, which was made from `shown`. An item that was not changed
 * is known by what it shows; one that was changed is where it was, if the list is as long as before and nobody else is it. Where that does
 * not tell, there is nothing at the place.
 */
export function alignLists(edited: unknown, shown: unknown, whole: unknown): unknown {
  if (Array.isArray(edited)) {
    if (!Array.isArray(shown) || !Array.isArray(whole)) return undefined;
    const places = placesOf(edited, shown);
    return edited.map((one, i) => {
      const place = places[i];
      return place === undefined ? undefined : alignLists(one, shown[place], whole[place]);
    });
  }
  if (!isObject(edited) || !isObject(shown) || !isObject(whole)) return whole;
  return Object.fromEntries(
    Object.keys(edited)
      .filter((name) => Object.hasOwn(whole, name))
      .map((name) => [name, alignLists(edited[name], shown[name], whole[name])]),
  );
}

/** Where each item was. */
function placesOf(edited: readonly unknown[], shown: readonly unknown[]): readonly (number | undefined)[] {
  const now = edited.map((one) => JSON.stringify(one));
  const before = shown.map((one) => JSON.stringify(one));
  const placesByText = Map.groupBy(before.keys(), (place) => before[place] ?? '');
  const texts = new Set(now);
  return now.map((text, i) => {
    if (before[i] === text) return i;
    const [place, ...more] = placesByText.get(text) ?? [];
    if (place !== undefined) return more.length === 0 ? place : undefined;
    return edited.length === shown.length && !texts.has(before[i] ?? '') ? i : undefined;
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
