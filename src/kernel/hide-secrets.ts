import { HIDDEN, isSecretName } from './secret-name.ts';

const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}-----|$)/g;
// Looked for from the beginning of a word alone, and only in one that a dot ends: begun anew at each "-eyJ" of a long word without
// one, a text of 30,000 characters took a second.
const JWT = /(?<![\w-])(?=[\w-]+\.[\w-])([\w-]*?)\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?/g;
// The fixed beginnings that cloud providers, code hosts, payment and model providers give their keys.
const KNOWN_KEY =
  /\b(?:(?:AGPA|AIDA|AKIA|ANPA|AROA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|(?:gh[opsu]|npm|hf|whsec)_\w{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|(?:sk|pk|rk)[-_][\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,})/g;
// A whole URL, or the query of a path.
const ADDRESS = /(\b[a-z][a-z0-9+.-]{0,30}:)?\/\/([^\s"'`<>]+)|\?[\w.%~[\]-]{1,64}=[^\s"'`<>]*/gi;
const SCHEME = /\b(basic|bearer|digest|negotiate|apikey)(\s{1,4})([\w+/=.~-]{6,})/gi;
const AFTER_WORD =
  /\b((?:tokens?|secrets?|passwords?|passwd|pwd|passphrases?|(?:api|access)[ _-]?keys?|credentials?|signatures?|jwts?)\b[^\w\n]{1,4}(?:(?:is|was|of|for|value|given|got|provided|received)[^\w\n]{1,3}){0,2})([\w+/=.~-]{6,})/gi;
const NAME = /([A-Za-z_][\w.-]{0,63})(?:\\{0,3}["'])?\s{0,3}(=>|[:=])\s{0,3}/g;

// Keys that are no secrets, and are what people look for in an error; with the path that leads to them ("payload.dedupeKey").
const PLAIN_KEY =
  /^(?:(?:[\w-]+\.)*(?:actor|cache|dedupe?|foreign|idempotency|message|object|partition|primary|routing|sort|unique)[-_.]?)?keys?$/i;
// In prose these stand before a colon too: "session: not found".
const PROSE_NAME = /^(?:auth|bearer|otp|pass|pin|session|sig)$/i;
// Their values are several words: a scheme and a token, a list of cookies.
const WHOLE_LINE = /authorization|cookie/i;

/**
 * The text with what looks like a secret replaced by `[hidden]`: private keys, tokens and keys of known forms, user, password
 * and query of URLs, values behind names that speak of secrets, and long random words behind such names. It hides too much
 * rather than too little, and cannot know a secret that looks like any other word. Takes time in proportion to the length.
 */
export function hideSecrets(text: string): string {
  const shown = hideKnownForms(text)
    .replace(ADDRESS, (_, scheme: string | undefined, rest: string | undefined) =>
      rest === undefined ? `?${HIDDEN}` : hideInUrl(scheme ?? '', rest),
    )
    .replace(SCHEME, (all, scheme: string, gap: string, value: string) =>
      looksRandom(value) ? `${scheme}${gap}${HIDDEN}` : all,
    );
  return hideNamedValues(shown).replace(AFTER_WORD, (all, before: string, value: string) =>
    looksRandom(value) ? `${before}${HIDDEN}` : all,
  );
}

/** As `hideSecrets`, of what is a secret by its form alone: for ids, in which a part that is named `key` or `token` is none. */
export function hideKnownForms(text: string): string {
  return text.replace(PRIVATE_KEY, HIDDEN).replace(JWT, `$1${HIDDEN}`).replace(KNOWN_KEY, HIDDEN);
}

/** Ordinary words have neither digits nor capitals inside, and are not that long. */
function looksRandom(value: string): boolean {
  return value.length >= 20 || /[0-9+/=]|[a-z][A-Z]|[A-Z]{2}/.test(value);
}

function hideInUrl(scheme: string, rest: string): string {
  // A path of this machine, most often in a stack.
  if (/^file:$/i.test(scheme)) return `${scheme}//${rest}`;
  const authority = rest.split(/[/?#]/, 1)[0] ?? '';
  // A password may hold a slash although it should not: what is no "host:port" and has an @ further on is taken as one.
  const isHost = /^(?:[^:@]*|\[[^\]]*\])(?::\d*)?$/.test(authority);
  const at = (isHost ? authority : rest).lastIndexOf('@');
  const after = rest.slice(at + 1);
  const query = after.search(/[?#]/);
  const user = at < 0 ? '' : `${HIDDEN}@`;
  if (query < 0) return `${scheme}//${user}${after}`;
  return `${scheme}//${user}${after.slice(0, query + 1)}${HIDDEN}${punctuationAtEnd(after)}`;
}

function punctuationAtEnd(text: string): string {
  let from = text.length;
  while (from > 0 && ').,;:'.includes(text[from - 1] ?? '-')) from--;
  return text.slice(from);
}

function hideNamedValues(text: string): string {
  let shown = '';
  let done = 0;
  NAME.lastIndex = 0;
  for (let match = NAME.exec(text); match; match = NAME.exec(text)) {
    const [, name = '', separator] = match;
    if (!isSecretName(name) || PLAIN_KEY.test(name)) continue;
    const from = NAME.lastIndex;
    const { start, end } = valueAt(text, from, WHOLE_LINE.test(name));
    const isProse =
      separator === ':' && PROSE_NAME.test(name) && !looksRandom(text.slice(start, end)) && start === from;
    if (end === start || isProse) continue;
    shown += text.slice(done, start) + HIDDEN;
    done = end;
    NAME.lastIndex = end;
  }
  return shown + text.slice(done);
}

/** Where the value that begins at `from` starts and ends, without its quotes. A quote that is not closed ends with the text. */
function valueAt(text: string, from: number, isWholeLine: boolean): { readonly start: number; readonly end: number } {
  const quote = quoteAt(text, from);
  if (quote !== undefined) {
    const start = from + quote.length;
    return { start, end: closingQuote(text, start, quote) };
  }
  if (text[from] === '[' || text[from] === '{') return { start: from, end: afterBracket(text, from) };
  const length = text.slice(from).search(isWholeLine ? /["`\n]/ : /[\s"'`<>&]/);
  return { start: from, end: length < 0 ? text.length : from + length };
}

/** A quote, with its backslashes in JSON that stands inside JSON. */
function quoteAt(text: string, from: number): string | undefined {
  return /^\\{0,3}["'`]/.exec(text.slice(from, from + 4))?.[0];
}

function closingQuote(text: string, start: number, quote: string): number {
  const sign = quote.slice(-1);
  const own = quote.length - 1;
  for (let at = text.indexOf(sign, start); at >= 0; at = text.indexOf(sign, at + 1)) {
    let backslashes = 0;
    while (at - backslashes > start && text[at - 1 - backslashes] === '\\') backslashes++;
    // More than its own: a quote inside the value, or backslashes of the value, which come in pairs of what the quote has.
    if (backslashes % (2 * (own + 1)) === own) return at - own;
  }
  return text.length;
}

function afterBracket(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const quote = quoteAt(text, at);
    if (quote !== undefined) at = closingQuote(text, at + quote.length, quote) + quote.length - 1;
    else if (text[at] === '[' || text[at] === '{') depth++;
    else if ((text[at] === ']' || text[at] === '}') && --depth === 0) return at + 1;
  }
  return text.length;
}
