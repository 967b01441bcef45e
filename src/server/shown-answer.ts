import { hideSecrets } from '../kernel/hide-secrets.ts';
import { hideUrlSecrets } from '../kernel/hide-url-secrets.ts';
import type { PayloadMatch } from '../operator/operator.ts';
import { describeReason, type WhyReason } from '../operator/why.ts';
import { REDACTED, type RedactionRules } from './redaction.ts';

/** Where keys stand in answers, audit details included. */
const KEYS: ReadonlySet<string> = new Set(['key', 'idempotencyKey', 'releasedKey', 'skippedKey']);
const BODIES: ReadonlySet<string> = new Set(['responseBody', 'responseBodyBase64']);
/** What people or programs wrote in words: a token may stand in it. */
const WORDS: ReadonlySet<string> = new Set(['reason', 'pausedFor', 'description', 'detail']);

type Fields = Readonly<Record<string, unknown>>;

/** What else an answer is, besides what the rules say. */
export interface AnswerKind {
  /** Keys of queues and flow control are names that senders chose for lines, not keys made of payloads. */
  readonly showsKeys: boolean;
}

/**
 * Answers as somebody sees them from whom the rules hide something. It goes by the names of fields and not by functions: what is added to
 * the operator later, or comes from another store, is hidden as well.
 */
export class ShownAnswer {
  readonly #rules: RedactionRules;
  readonly #showsKeys: boolean;

  constructor(rules: RedactionRules, { showsKeys }: AnswerKind = { showsKeys: rules.showsKeys }) {
    this.#rules = rules;
    this.#showsKeys = showsKeys;
  }

  of<T>(answer: T): T {
    return this.#any(answer) as T;
  }

  #any(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#any(one));
    if (!isFields(value)) return value;
    const fields = Object.entries(value).map(([name, one]): [string, unknown] => [name, this.#field(name, one, value)]);
    return this.#sentence(Object.fromEntries(fields));
  }

  #field(name: string, value: unknown, of: Fields): unknown {
    switch (name) {
      case 'payload':
        return this.#rules.payload(value);
      case 'request':
      case 'delivery':
        return isFields(value) ? this.#rules.payload(value) : value;
      case 'headers':
      case 'responseHeaders':
        return isFields(value) ? this.#rules.headers(value) : this.#any(value);
      case 'filter':
        return isFields(value) ? this.#filter(value) : value;
      case 'error':
        return typeof value === 'string' ? this.#text(value) : this.#error(value);
      case 'lastError':
        return this.#text(value);
      case 'detail':
        return of['outcome'] === 'ok' ? this.#named(name, value) : this.#text(value);
      case 'attention':
        return this.#attention(value);
      case 'url':
        return typeof value === 'string' ? this.#url(value) : this.#any(value);
      default:
        return this.#named(name, value);
    }
  }

  #named(name: string, value: unknown): unknown {
    if (BODIES.has(name) && this.#rules.hasRules)
      return value instanceof Uint8Array ? new TextEncoder().encode(REDACTED) : value && REDACTED;
    if (typeof value !== 'string') return this.#any(value);
    if (KEYS.has(name) && !this.#showsKeys) return REDACTED;
    return WORDS.has(name) ? hideSecrets(value) : value;
  }

  #url(url: string): string {
    return this.#rules.covers(['url']) ? REDACTED : hideUrlSecrets(url);
  }

  #text(text: unknown): unknown {
    if (typeof text !== 'string') return text;
    return this.#rules.showsErrors ? hideSecrets(text) : REDACTED;
  }

  #error(error: unknown): unknown {
    if (!isFields(error)) return error;
    const { message, stack: _, ...rest } = error;
    const shown = this.#any(rest) as Fields;
    if (!this.#rules.showsErrors) return { ...shown, ...(message === undefined ? {} : { message: REDACTED }) };
    return Object.fromEntries(
      Object.keys(error).map((name) => [name, name in shown ? shown[name] : this.#text(error[name])]),
    );
  }

  /** The error of a destination stands in the text about its breaker, in brackets. */
  #attention(value: unknown): unknown {
    const shown = this.#any(value);
    if (this.#rules.showsErrors || !Array.isArray(shown)) return shown;
    return shown.map((one: Fields) =>
      Object.assign({}, one, { text: String(one['text']).replace(/ is open \([^]*\): /, ' is open: ') }),
    );
  }

  /** Of an operation that somebody else began, who may see. */
  #filter(filter: Fields): Fields {
    const fields = Object.entries(filter).map(([name, value]): [string, unknown] => {
      if (name === 'payload' && Array.isArray(value))
        return [name, value.map((match: PayloadMatch) => this.#match(match))];
      if (name === 'search' && value !== undefined && this.#rules.hasRules) return [name, REDACTED];
      return [name, this.#field(name, value, filter)];
    });
    return Object.fromEntries(fields);
  }

  #match(match: PayloadMatch): PayloadMatch {
    return this.#rules.tells(match) ? { path: match.path, value: REDACTED } : match;
  }

  /** The sentence says what the reason says: it is written again from what is left of that. */
  #sentence(fields: Fields): Fields {
    const { sentence, reason } = fields;
    const isHidden = !this.#showsKeys || !this.#rules.showsErrors;
    if (!isHidden || typeof sentence !== 'string' || !isFields(reason)) return fields;
    return { ...fields, sentence: describeReason(reason as unknown as WhyReason) };
  }
}

function isFields(value: unknown): value is Fields {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof Uint8Array)
  );
}
