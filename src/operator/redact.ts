import { OptionCheck } from '../kernel/check-options.ts';
import { HIDDEN } from '../kernel/secret-name.ts';
import { payloadPath } from './message-query.ts';

/** Gives a payload back with what must not be seen replaced by `[hidden]`. The payload itself is not touched. */
export type Redact = (payload: unknown) => unknown;

const ANY_STEP = '*';
const ANY_DEPTH = '**';

/**
 * Hides what stands at these places of every payload: `customer.email`, `items.*.card` (each item), `**.password` (at any depth).
 * A name with a dot stands in quotes: `"a.b".c`. Case does not matter. Throws `INVALID_OPTIONS` for what is no place.
 */
export function redactor(paths: readonly string[]): Redact {
  const check = new OptionCheck('redactor()');
  const places = paths.map((path) => {
    const steps = payloadPath(path);
    if (steps === undefined)
      check.refuse('redact', path, 'write a place such as customer.email, items.*.card or **.password');
    return (steps ?? []).map((step) => step.toLowerCase());
  });
  check.done();
  return places.length === 0 ? (payload) => payload : (payload) => hide(payload, places);
}

/** `places`: the rest of each path, seen from here. */
function hide(value: unknown, places: readonly (readonly string[])[]): unknown {
  if (places.some((place) => place.length === 0 || (place.length === 1 && place[0] === ANY_DEPTH))) return HIDDEN;
  if (places.length === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown, index) => hide(one, below(places, String(index))));
  // Without a prototype, so that a field called __proto__ is a field.
  const shown = Object.create(null) as Record<string, unknown>;
  for (const [name, one] of Object.entries(value)) shown[name] = hide(one, below(places, name.toLowerCase()));
  return shown;
}

function below(places: readonly (readonly string[])[], step: string): readonly (readonly string[])[] {
  return places.flatMap((place) => {
    const [first, second, ...rest] = place;
    if (first === ANY_DEPTH) {
      const isHere = second === step || second === ANY_STEP;
      return isHere ? [place, rest] : [place];
    }
    return first === step || first === ANY_STEP ? [place.slice(1)] : [];
  });
}
