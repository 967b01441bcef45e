/** A statement of postgres.js that has not been sent. */
export interface PostgresJsStatement {
  handler: ((statement: PostgresJsStatement) => unknown) & { readonly debug?: unknown };
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  strings: readonly string[];
  args: readonly unknown[];
  simple(): unknown;
}

/** What a value inside a template may be, besides a parameter: a statement, a list of them, or rows and columns with them inside. */
interface Part {
  readonly strings?: unknown;
  readonly args?: unknown;
  readonly first?: unknown;
  readonly rest?: unknown;
}

const DEEPEST = 6;

/**
 * The text of a statement, for the gate: as postgres.js will write it, with `$1` for what is a parameter or a name. What is written
 * from rows and columns stands for itself only where it has statements inside, which are text too.
 */
export function rawText(statement: { readonly strings: readonly string[]; readonly args: readonly unknown[] }): string {
  const { args } = statement;
  // What was given for a text becomes one when it is written: a list with one in it is taken too.
  const strings = statement.strings.map(String);
  let text = strings[0] ?? '';
  for (let at = 1; at < strings.length; at += 1) text += textOfPart(args[at - 1], 0) + (strings[at] ?? '');
  return text;
}

function textOfPart(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return '$1';
  const { strings, args, first, rest } = value as Part;
  if (Array.isArray(strings) && Array.isArray(args)) return rawText({ strings: strings as string[], args });
  const inner = Array.isArray(value) ? (value as unknown[]) : first === undefined ? undefined : [first, rest];
  if (inner === undefined) return '$1';
  return `$1 ${inner.map((part) => textOfRow(part, depth + 1)).join(' ')}`;
}

/** Of a row only its values matter. */
function textOfRow(value: unknown, depth: number): string {
  const isRow = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  const parts: readonly unknown[] = isRow ? Object.values(value) : [value];
  return parts
    .map((part) => textOfPart(part, depth))
    .filter((text) => text !== '$1')
    .join(' ');
}
