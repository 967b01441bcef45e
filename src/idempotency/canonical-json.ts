import { HIDDEN, isSecretName } from '../kernel/secret-name.ts';

// A deeper body is no accident, and would end the process's stack.
const MOST_LEVELS = 500;

/**
 * One text for all ways to write the same JSON: keys in order, numbers and escapes as JSON writes them, letters composed (NFC).
 * Values of fields whose name speaks of a secret do not count: what is hashed and stored must not help anybody to guess them.
 * `undefined` when it is nested deeper than 500 levels.
 */
export function canonicalJson(value: unknown, isSecret: (name: string) => boolean = isSecretName): string | undefined {
  const pieces: string[] = [];
  return write(value, MOST_LEVELS, isSecret, pieces) ? pieces.join('') : undefined;
}

function write(value: unknown, levels: number, isSecret: (name: string) => boolean, out: string[]): boolean {
  if (levels === 0) return false;
  if (typeof value !== 'object' || value === null) {
    out.push(typeof value === 'bigint' ? `${value}` : (JSON.stringify(plain(value)) ?? 'null'));
    return true;
  }
  if (Array.isArray(value)) return writeItems(value, levels, isSecret, out);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return write(toJSON.call(value), levels - 1, isSecret, out);
  out.push('{');
  let isFirst = true;
  for (const [name, item] of Object.entries(value).toSorted(byName)) {
    if (item === undefined) continue;
    out.push(isFirst ? '' : ',', JSON.stringify(name.normalize()), ':');
    isFirst = false;
    if (isSecret(name)) out.push(JSON.stringify(HIDDEN));
    else if (!write(item, levels - 1, isSecret, out)) return false;
  }
  out.push('}');
  return true;
}

function writeItems(
  items: readonly unknown[],
  levels: number,
  isSecret: (name: string) => boolean,
  out: string[],
): boolean {
  out.push('[');
  for (const [at, item] of items.entries()) {
    if (at > 0) out.push(',');
    if (!write(item, levels - 1, isSecret, out)) return false;
  }
  out.push(']');
  return true;
}

function plain(value: unknown): unknown {
  return typeof value === 'string' ? value.normalize() : value;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
