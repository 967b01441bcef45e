import { OptionCheck } from '../kernel/check-options.ts';
import { HIDDEN } from '../kernel/secret-name.ts';
import { hideUrlSecrets } from '../kernel/hide-url-secrets.ts';
import type { PayloadMatch } from '../operator/operator.ts';
import { type Restored, restoreHidden, timesIn } from '../operator/restore-hidden.ts';
import type { Role } from './route.ts';
import { mayAs } from './route.ts';
import { holdsHeaders, isSecretPath, secretHeaders, withoutSecrets } from './secret-places.ts';
import type { Redaction } from './server-options.ts';

/** What stands where something is hidden. */
export const REDACTED = '[redacted]';

const HEADERS = 'headers';
const BODIES = ['body', 'bodyBase64'] as const;

/**
 * What is hidden from whom. Secrets that are known by their place (headers whose names speak of one, tokens in URLs) are hidden from
 * everybody, what rules name from those below `visibleTo`. Names are compared without their case; a place in a list is any place.
 */
export class RedactionRules {
  readonly #paths: readonly (readonly string[])[];
  readonly #visibleTo: Role | 'nobody';
  readonly #showErrors: boolean;
  readonly #showKeys: boolean;

  constructor(given: readonly string[] | Redaction | undefined) {
    const { paths, visibleTo = 'admin', showErrors = false, showKeys = false } = asRedaction(given);
    this.#paths = paths.map(partsOf);
    this.#visibleTo = visibleTo;
    this.#showErrors = showErrors || paths.length === 0;
    this.#showKeys = showKeys || paths.length === 0;
  }

  /** True when no rule hides anything from this role. */
  seesAll(role: Role): boolean {
    return this.#paths.length === 0 || (this.#visibleTo !== 'nobody' && mayAs(role, this.#visibleTo));
  }

  /** There are rules: bodies of deliveries and free-text searches are not for those they are for. */
  get hasRules(): boolean {
    return this.#paths.length > 0;
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
    if (isSecretPath(path)) return true;
    const asked = path.map((part) => part.toLowerCase());
    if (this.hasRules && asked.length === 1 && BODIES.some((name) => name.toLowerCase() === asked[0])) return true;
    return this.#paths.some((rule) => {
      if (rule[0] !== HEADERS) return overlaps(rule, asked);
      return asked.some((part, i) => holdsHeaders(part) && overlaps(rule, asked.slice(i)));
    });
  }

  /** True when what such a match finds would tell what is hidden: by its place, or because its value is a URL with a secret in it. */
  tells({ path, value }: PayloadMatch): boolean {
    return this.covers(path) || (typeof value === 'string' && hideUrlSecrets(value) !== value);
  }

  payload(value: unknown): unknown {
    const shown = this.#paths.reduce(
      (rest, rule) => (rule[0] === HEADERS ? hiddenAnywhere(rest, rule) : hidden(rest, rule)),
      value,
    );
    return withoutSecrets(this.hasRules ? withoutBodies(shown) : shown);
  }

  /** An edit of what `payload` showed, as `restoreEdit` has it. */
  restore(edited: unknown, whole: unknown): unknown {
    return this.restoreEdit(edited, whole).value;
  }

  /**
   * An edit of what `payload` showed: hidden places that were left alone keep the value they had in `whole`. Throws `INVALID_OPTIONS` where it
   * cannot be told which hidden value is meant.
   */
  restoreEdit(edited: unknown, whole: unknown): Restored {
    const restored = restoreHidden(edited, this.payload(whole), whole);
    const left = [REDACTED, HIDDEN].find((text) => timesIn(restored.value, text) > timesIn(whole, text));
    if (left !== undefined) {
      const check = new OptionCheck('edit()');
      check.refuseName('payload', left, `leave what is hidden where it was, or write a value in the place of ${left}`);
      check.done();
    }
    return restored;
  }

  /** Headers of a message, a delivery or an endpoint: one value for each name, or a list of them. */
  headers<T>(given: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
    const rules = this.#paths.filter(([first]) => first === HEADERS);
    const shown = rules.reduce<unknown>((rest, [, ...name]) => hidden(rest, [name.join('.') || '*']), given);
    return secretHeaders(shown) as Readonly<Record<string, T>>;
  }
}

/** The parts of a place, in lower case. `items[0].iban` and `items[].iban` are any item: which one it is changes with every edit. */
function partsOf(path: string): readonly string[] {
  const dotted = path.replaceAll(/\[(?:\d+|\*)?\]/g, '.*').replace(/^\./, '');
  return dotted.toLowerCase().split('.');
}

function asRedaction(given: readonly string[] | Redaction | undefined): Redaction {
  if (given === undefined) return { paths: [] };
  return Array.isArray(given) ? { paths: given as readonly string[] } : (given as Redaction);
}

const isIndex = (part: string | undefined): boolean => part !== undefined && /^\d+$/.test(part);

/**
 * True where a rule and a path may mean the same place, or one a place within the other. Lists may be left out of both. Each part of the rule
 * meets each part of the path once at most: tried one by one, the ways to leave lists out are as many as there are subsets of them.
 */
function overlaps(rule: readonly string[], path: readonly string[]): boolean {
  let starts = new Set([0]);
  for (const part of rule) {
    const next = new Set<number>();
    // It grows while it is gone through: behind an index stands what the index may be left out of.
    for (const at of starts) {
      const name = path[at];
      if (name === undefined) return true;
      if (part === '*' || part === name || (part === HEADERS && holdsHeaders(name))) next.add(at + 1);
      if (isIndex(name)) starts.add(at + 1);
      if (part === '*' || isIndex(part)) next.add(at);
    }
    starts = next;
  }
  return starts.size > 0;
}

/** The value with what is at the path replaced; lists are gone through as if they were not there, so `items.iban` hides each. */
function hidden(value: unknown, [part, ...rest]: readonly string[]): unknown {
  if (part === undefined) return value === undefined ? undefined : REDACTED;
  if (Array.isArray(value)) {
    const isPlace = part === '*' || isIndex(part);
    return value.map((one) => hidden(one, isPlace ? rest : [part, ...rest]));
  }
  const isAllBelow = part === '*' && rest.length === 0;
  // `card.*` of a message that has but a number there means that number.
  if (typeof value !== 'object') return isAllBelow && value !== undefined ? REDACTED : value;
  if (value === null) return value;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => [
    name,
    part === '*' || part === name.toLowerCase() || (part === HEADERS && holdsHeaders(name)) ? hidden(one, rest) : one,
  ]);
  return Object.fromEntries(fields);
}

/** The same at any depth: headers stand in requests, answers and callbacks within a payload. */
function hiddenAnywhere(value: unknown, rule: readonly string[]): unknown {
  const inner = Array.isArray(value)
    ? value.map((one) => hiddenAnywhere(one, rule))
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hiddenAnywhere(one, rule)]))
      : value;
  return hidden(inner, rule);
}

/** An HTTP delivery without its body: what a rule hides in payloads may stand there, as text. */
function withoutBodies(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('signedBy' in value && 'url' in value)) return value;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => [
    name,
    BODIES.some((body) => body === name) && one !== undefined ? REDACTED : one,
  ]);
  return Object.fromEntries(fields);
}
