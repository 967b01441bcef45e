// A deeper body is no accident, and would end the process's stack.
const MOST_LEVELS = 500;

/**
 * One text for all ways to write the same JSON: keys in order, numbers and escapes as JSON writes them, letters composed (NFC).
 * Every value counts, whatever its name: two requests that differ in a password are two requests. `undefined` when it is nested
 * deeper than 500 levels.
 */
export function canonicalJson(value: unknown): string | undefined {
  return textOf(value, MOST_LEVELS);
}

function textOf(value: unknown, levels: number): string | undefined {
  if (levels === 0) return undefined;
  if (typeof value === 'string') return JSON.stringify(value.normalize());
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'bigint' ? `${value}` : (JSON.stringify(value) ?? 'null');
  }
  if (Array.isArray(value)) return textOfItems(value, levels);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return textOf(toJSON.call(value), levels - 1);
  return textOfFields(value as Readonly<Record<string, unknown>>, levels);
}

function textOfFields(value: Readonly<Record<string, unknown>>, levels: number): string | undefined {
  const names = Object.keys(value);
  // By code units, as text sorts by itself.
  if (names.length > 1) names.sort();
  let out = '';
  for (const name of names) {
    const item = value[name];
    if (item === undefined) continue;
    const text = textOf(item, levels - 1);
    if (text === undefined) return undefined;
    out += `${out === '' ? '' : ','}${JSON.stringify(name.normalize())}:${text}`;
  }
  return `{${out}}`;
}

function textOfItems(items: readonly unknown[], levels: number): string | undefined {
  let out = '';
  for (let at = 0; at < items.length; at++) {
    const text = textOf(items[at], levels - 1);
    if (text === undefined) return undefined;
    out += at === 0 ? text : `,${text}`;
  }
  return `[${out}]`;
}
