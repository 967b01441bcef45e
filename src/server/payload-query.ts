import type { OptionProblem } from '../kernel/check-options.ts';
import type { PayloadMatch } from '../operator/operator.ts';

const PREFIX = 'payload.';
const MOST_MATCHES = 10;

/**
 * Takes `payload.<path>=<value>` out of a query. Parts of a path stand between dots; `\.` is a dot inside one. A value is read as JSON
 * where it is a number, `true`, `false`, `null` or a text in double quotes, and otherwise as the text it is.
 */
export function takePayload(query: URLSearchParams): {
  readonly rest: URLSearchParams;
  readonly payload: readonly PayloadMatch[] | undefined;
  readonly problems: readonly OptionProblem[];
} {
  const rest = new URLSearchParams();
  const payload: PayloadMatch[] = [];
  const problems: OptionProblem[] = [];
  for (const [name, value] of query) {
    if (!name.startsWith(PREFIX)) rest.append(name, value);
    else {
      const path = pathOf(name.slice(PREFIX.length));
      if (path.length === 0 || path.includes('')) {
        problems.push({ option: PREFIX, found: 'a path with an empty part', write: 'write payload.customer.id=42' });
      }
      payload.push({ path, value: valueOf(value) });
    }
  }
  if (payload.length > MOST_MATCHES) {
    problems.push({ option: PREFIX, found: `${payload.length} of them`, write: `write at most ${MOST_MATCHES}` });
  }
  return { rest, payload: payload.length === 0 ? undefined : payload, problems };
}

/** The same the other way: adds them to a query. */
export function addPayload(query: URLSearchParams, payload: readonly PayloadMatch[]): void {
  for (const { path, value } of payload) {
    const name = path.map((part) => part.replaceAll(/[\\.]/g, (sign) => `\\${sign}`)).join('.');
    query.append(`${PREFIX}${name}`, JSON.stringify(value));
  }
}

function pathOf(text: string): readonly string[] {
  const parts = [''];
  for (let i = 0; i < text.length; i++) {
    const isEscaped = text[i] === '\\' && i + 1 < text.length;
    if (isEscaped) i++;
    if (text[i] === '.' && !isEscaped) parts.push('');
    else parts[parts.length - 1] += text[i] ?? '';
  }
  return parts;
}

const JSON_VALUE = /^(?:-?\d|true$|false$|null$|")/;

function valueOf(text: string): PayloadMatch['value'] {
  if (!JSON_VALUE.test(text)) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? text : (value as PayloadMatch['value']);
  } catch {
    return text;
  }
}
