import { OptionCheck } from '../kernel/check-options.ts';
import { alignLists } from './align-lists.ts';
import type { Role } from './route.ts';
import { mayAs } from './route.ts';
import type { Redaction } from './server-options.ts';

/** What stands where something is hidden. */
export const REDACTED = '[redacted]';

const HEADERS = 'headers';

/** What is hidden from whom. */
export class RedactionRules {
  readonly #payload: readonly (readonly string[])[];
  readonly #headers: readonly string[];
  readonly #visibleTo: Role | 'nobody';
  readonly #showErrors: boolean;
  readonly #showKeys: boolean;

  constructor(given: readonly string[] | Redaction | undefined) {
    const { paths, visibleTo = 'admin', showErrors = false, showKeys = false } = asRedaction(given);
    const parts = paths.map((path) => path.split('.'));
    // A payload may have a field of that name, too: a request that was taken in, with its headers.
    this.#payload = parts;
    this.#headers = parts
      .filter(([first]) => first === HEADERS)
      .map(([, ...name]) => (name.length === 0 ? '*' : name.join('.').toLowerCase()));
    this.#visibleTo = visibleTo;
    this.#showErrors = showErrors || paths.length === 0;
    this.#showKeys = showKeys || paths.length === 0;
  }

  /** True when nothing is hidden from this role. */
  seesAll(role: Role): boolean {
    return this.#payload.length === 0 || (this.#visibleTo !== 'nobody' && mayAs(role, this.#visibleTo));
  }

  /** Texts of errors are shown to those from whom something is hidden. */
  get showsErrors(): boolean {
    return this.#showErrors;
  }

  /** Keys are shown to those from whom something is hidden. */
  get showsKeys(): boolean {
    return this.#showKeys;
  }

  /** True when a search for a value at this place would tell what is hidden: at, above or below it. */
  covers(path: readonly string[]): boolean {
    return this.#payload.some((rule) => {
      const shared = Math.min(rule.length, path.length);
      return rule.slice(0, shared).every((part, i) => part === '*' || part === path[i]);
    });
  }

  payload(value: unknown): unknown {
    return this.#payload.reduce((shown, rule) => hidden(shown, rule), value);
  }

  /**
   * An edit of what `payload` showed: hidden places that were left alone keep the value they had in `whole`. Throws `INVALID_OPTIONS` where it
   * cannot be told which hidden value is meant.
   */
  restore(edited: unknown, whole: unknown): unknown {
    const before = alignLists(edited, this.payload(whole), whole);
    const value = this.#payload.reduce((rest, rule) => restored(rest, before, rule), edited);
    if (timesHidden(value) > timesHidden(whole)) {
      const check = new OptionCheck('edit()');
      const write = `leave what is hidden where it was, or write a value in the place of ${REDACTED}`;
      check.refuseName('payload', REDACTED, write);
      check.done();
    }
    return value;
  }

  headers(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const isHidden = (name: string): boolean =>
      this.#headers.some((rule) => rule === '*' || rule === name.toLowerCase());
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, isHidden(name) ? REDACTED : value]));
  }
}

/** What was read by somebody who may not see all, and is given back changed: hidden places that were left alone get their value again. */
function restored(value: unknown, whole: unknown, [part, ...rest]: readonly string[]): unknown {
  if (part === undefined) return value === REDACTED && whole !== undefined ? whole : value;
  if (Array.isArray(value)) {
    const isPlace = part === '*' || /^\d+$/.test(part);
    const inner = isPlace ? rest : [part, ...rest];
    return value.map((one, i) => restored(one, Array.isArray(whole) ? (whole[i] as unknown) : undefined, inner));
  }
  const isAllBelow = part === '*' && rest.length === 0;
  if (typeof value !== 'object' || value === null) {
    return isAllBelow && value === REDACTED && whole !== undefined ? whole : value;
  }
  const before = (typeof whole === 'object' && whole !== null ? whole : {}) as Readonly<Record<string, unknown>>;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => [
    name,
    part === '*' || part === name ? restored(one, ownValue(before, name), rest) : one,
  ]);
  return Object.fromEntries(fields);
}

/** Not what every object has: a payload may have a field `constructor`. */
function ownValue(fields: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function asRedaction(given: readonly string[] | Redaction | undefined): Redaction {
  if (given === undefined) return { paths: [] };
  return Array.isArray(given) ? { paths: given as readonly string[] } : (given as Redaction);
}

/** The value with what is at the path replaced; lists are gone through as if they were not there, so `items.iban` hides each. */
function hidden(value: unknown, [part, ...rest]: readonly string[]): unknown {
  if (part === undefined) return value === undefined ? undefined : REDACTED;
  if (Array.isArray(value)) {
    const isPlace = part === '*' || /^\d+$/.test(part);
    return value.map((one, i) => {
      if (!isPlace) return hidden(one, [part, ...rest]);
      return part === '*' || String(i) === part ? hidden(one, rest) : (one as unknown);
    });
  }
  const isAllBelow = part === '*' && rest.length === 0;
  // `card.*` of a message that has but a number there means that number.
  if (typeof value !== 'object') return isAllBelow && value !== undefined ? REDACTED : value;
  if (value === null) return value;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => [
    name,
    part === '*' || part === name ? hidden(one, rest) : one,
  ]);
  return Object.fromEntries(fields);
}

/** How often the text that stands for what is hidden is in a value. */
function timesHidden(value: unknown): number {
  return (JSON.stringify(value) ?? '').split(JSON.stringify(REDACTED)).length - 1;
}
