/**
 * A token of a text in SQL: a word in lower case (`commit`), the name inside double quotes (`"Order"`, with its first quote), a
 * single quote for a string of any kind, or one character of punctuation.
 */
export type SqlToken = string;

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y;
const BLANK = /[ \t\n\r\f\v]+/y;
const LINE_COMMENT = /--[^\n\r]*/y;
// A string goes on in the next line, in the way it began: E'a'\n'b' is one string with escapes.
const GOES_ON = /(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*'/y;

/**
 * The tokens of a text as PostgreSQL would read it, without blanks and comments. Nothing is refused: what is not closed lasts until
 * the end, and the server refuses it. `hasEscapes`: read plain strings as a server with `standard_conforming_strings = off` does.
 */
export function* sqlTokens(text: string, hasEscapes = false): Generator<SqlToken, void, undefined> {
  let at = 0;
  const matched = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  while (at < text.length) {
    if (matched(BLANK) !== undefined || matched(LINE_COMMENT) !== undefined) continue;
    if (text.startsWith('/*', at)) {
      at = endOfComment(text, at);
      continue;
    }
    const word = matched(WORD);
    if (word !== undefined) {
      const isEscape = text[at] === "'" && (word === 'e' || word === 'E');
      if (isEscape) at = endOfEscapeString(text, at + 1);
      yield isEscape ? "'" : word.toLowerCase();
      continue;
    }
    const tag = matched(DOLLAR_TAG);
    if (tag !== undefined) {
      at = after(text, tag, at);
      yield "'";
      continue;
    }
    const begin = at;
    const character = text[at] ?? '';
    at += 1;
    if (character === "'") at = hasEscapes ? endOfEscapeString(text, at) : after(text, "'", at);
    if (character === '"') at = after(text, '"', at);
    yield character === '"' ? text.slice(begin, at - 1) : character;
  }
}

/** The place after the next `what`; the end where there is none. */
function after(text: string, what: string, from: number): number {
  const found = text.indexOf(what, from);
  return found === -1 ? text.length : found + what.length;
}

/** Comments of this kind lie inside one another. */
function endOfComment(text: string, from: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = from;
  let depth = 0;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return text.length;
}

function endOfEscapeString(text: string, from: number): number {
  const marks = /\\[^]|'/g;
  marks.lastIndex = from;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] !== "'") continue;
    // A doubled quote is one of the text.
    if (text[marks.lastIndex] === "'") marks.lastIndex += 1;
    else {
      GOES_ON.lastIndex = marks.lastIndex;
      const more = GOES_ON.exec(text);
      if (more === null) return marks.lastIndex;
      marks.lastIndex += more[0].length;
    }
  }
  return text.length;
}
