// Whole terminal sequences go, not only their first byte, so that no "[31m" is left standing in the text. A sequence
// that is never closed loses its introducer alone: it must not swallow the rest of the message.
const STRING_SEQUENCE =
  /(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u0090\u0098\u009C-\u009F]*(?:\u0007|\u001B\\|\u009C)/g;
const CSI_SEQUENCE = /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]/g;
const ESCAPE = /\u001B[ -/]*[0-~]?/g;
const LINE_BREAKS_AND_TABS = /[\t-\r\u0085\u2028\u2029]+/g;
// What is left of the control characters, and the marks that reorder or hide text on a terminal.
const INVISIBLE = /[\u0000-\u001F\u007F-\u009F\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/g;

/** Text that is safe to write to a terminal and stays on one line: no control codes, no sequences, no reordering marks. */
export function terminalSafe(text: string): string {
  return text
    .replace(STRING_SEQUENCE, '')
    .replace(CSI_SEQUENCE, '')
    .replace(ESCAPE, '')
    .replace(LINE_BREAKS_AND_TABS, ' ')
    .replace(INVISIBLE, '')
    .trim();
}

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6\p{Emoji_Presentation}\uFE0F]/u;
const NO_WIDTH = /^[\p{Mark}\p{Format}]+$/u;

/** How many terminal columns the text takes. East Asian wide characters and emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes().segment(text)) width += graphemeWidth(segment);
  return width;
}

/** The text cut to at most `columns` columns, with an ellipsis in the last one if something was cut. */
export function fitColumns(text: string, columns: number): string {
  if (columns <= 0) return '';
  let width = 0;
  let kept = '';
  for (const { segment } of graphemes().segment(text)) {
    const next = width + graphemeWidth(segment);
    if (next > columns) return `${withinColumns(kept, columns - 1)}…`;
    width = next;
    kept += segment;
  }
  return text;
}

function withinColumns(text: string, columns: number): string {
  let width = 0;
  let kept = '';
  for (const { segment } of graphemes().segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns) break;
    kept += segment;
  }
  return kept.trimEnd();
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  return NO_WIDTH.test(grapheme) ? 0 : 1;
}

let segmenter: Intl.Segmenter | undefined;

// Made on first use: it loads tables of some hundred kilobytes that a browser page never needs.
function graphemes(): Intl.Segmenter {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter;
}
