import { sqlTokens, type SqlToken } from './sql-tokens.ts';

/**
 * What a text asks of the transaction it runs in. `begin`, `commit` and `rollback`: nothing but that one plain statement.
 * `refused`: something that must not run inside a transaction of ours, and what that is, in words of SQL only.
 */
export type TransactionControl =
  | { readonly kind: 'begin' | 'commit' | 'rollback' }
  | { readonly kind: 'refused'; readonly statement: string };

const SUSPECTS: ReadonlySet<string> = new Set([
  'begin',
  'start',
  'commit',
  'end',
  'rollback',
  'abort',
  'prepare',
  'set',
  'reset',
  'discard',
]);

const FIRST_WORD = /^\s*([A-Za-z_]\w*|\()/;

// Settings of the transaction itself, and those that the next transaction of the connection would begin with.
const OUR_SETTINGS = /^(default_)?transaction_(read_only|isolation|deferrable)$/;

/** No statement that we have to tell apart is longer. */
const HEAD = 8;

/**
 * Finds transaction control in a text, before it is sent. Nothing for a text without any: savepoints, and such words inside strings,
 * comments, names and function bodies, are none.
 */
export function transactionControl(text: string): TransactionControl | undefined {
  if (isHarmless(text)) return undefined;
  const found = findControl(text, false);
  // Whether a backslash escapes a quote is a setting of the server: a text must be harmless in both readings.
  if (found !== undefined || !text.includes('\\')) return found;
  return findControl(text, true);
}

/** True for one statement with a first word that is none of ours: nearly all texts, told apart without reading them. */
function isHarmless(text: string): boolean {
  const word = FIRST_WORD.exec(text)?.[1];
  if (word === undefined || SUSPECTS.has(word.toLowerCase())) return false;
  const semicolon = text.indexOf(';');
  return semicolon === -1 || semicolon === text.trimEnd().length - 1;
}

function findControl(text: string, hasEscapes: boolean): TransactionControl | undefined {
  let statements = 0;
  let found: TransactionControl | undefined;
  for (const head of statementHeads(text, hasEscapes)) {
    statements += 1;
    found ??= controlOf(head);
  }
  if (found === undefined || found.kind === 'refused' || statements === 1) return found;
  return { kind: 'refused', statement: `${found.kind} among other statements` };
}

/** The first tokens of each statement of a text. Empty statements are none. */
function* statementHeads(text: string, hasEscapes: boolean): Generator<readonly SqlToken[], void, undefined> {
  let head: SqlToken[] = [];
  let last: SqlToken = '';
  let isInBody = false;
  let depth = 0;
  for (const token of sqlTokens(text, hasEscapes)) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
    if (token === ';') {
      if (head.length > 0) yield head;
      head = [];
      depth = 0;
    } else if (token === 'end' && isInBody && (head.length === 0 || last === 'atomic')) {
      // The end of a function's body: `create function … begin atomic …; …; end`.
      isInBody = false;
    } else {
      // Elsewhere they may be a column and its name.
      if (token === 'atomic' && last === 'begin' && depth === 0 && isRoutine(head)) isInBody = true;
      if (head.length < HEAD) head.push(token);
    }
    last = token;
  }
  if (head.length > 0) yield head;
}

function isRoutine(head: readonly SqlToken[]): boolean {
  const kind = head[head[1] === 'or' ? 3 : 1];
  return head[0] === 'create' && (kind === 'function' || kind === 'procedure');
}

function controlOf(head: readonly SqlToken[]): TransactionControl | undefined {
  const [first = '', second = ''] = head;
  switch (first) {
    case 'begin':
      return isPlain(head) ? { kind: 'begin' } : refused(head, BEGIN_WORDS);
    case 'start':
      if (second !== 'transaction') return undefined;
      return head.length === 2 ? { kind: 'begin' } : refused(head, BEGIN_WORDS);
    case 'commit':
    case 'end':
      return isPlain(head) ? { kind: 'commit' } : refused(head, END_WORDS);
    case 'rollback':
    case 'abort':
      if (first === 'rollback' && head[isWork(second) ? 2 : 1] === 'to') return undefined;
      return isPlain(head) ? { kind: 'rollback' } : refused(head, END_WORDS);
    case 'prepare':
      return second === 'transaction' ? refused(head, END_WORDS) : undefined;
    case 'discard':
      return second === 'all' ? refused(head, SETTING_WORDS) : undefined;
    case 'set':
    case 'reset':
      return settingControl(head);
    default:
      return undefined;
  }
}

function isPlain(head: readonly SqlToken[]): boolean {
  return head.length === 1 || (head.length === 2 && isWork(head[1] ?? ''));
}

function isWork(word: SqlToken): boolean {
  return word === 'work' || word === 'transaction';
}

function settingControl(head: readonly SqlToken[]): TransactionControl | undefined {
  const isScoped = head[1] === 'local' || head[1] === 'session';
  const at = isScoped ? 2 : 1;
  // A name in double quotes is the same setting.
  const name = (head[at] ?? '').replace(/^"/, '').toLowerCase();
  const isOurs =
    (head[0] === 'reset' ? name === 'all' : name === 'transaction' || (isScoped && name === 'characteristics')) ||
    OUR_SETTINGS.test(name) ||
    (name === 'holdfast' && head[at + 1] === '.') ||
    // A name with Unicode escapes: nobody writes it without a reason.
    (name === 'u' && head[at + 1] === '&');
  return isOurs ? refused([...head.slice(0, at), name], SETTING_WORDS) : undefined;
}

const BEGIN_WORDS: ReadonlySet<string> = new Set([
  'begin',
  'start',
  'work',
  'transaction',
  'isolation',
  'read',
  'only',
]);
const END_WORDS: ReadonlySet<string> = new Set([
  'commit',
  'end',
  'rollback',
  'abort',
  'work',
  'transaction',
  'prepare',
  'prepared',
  'and',
  'chain',
]);
const SETTING_WORDS: ReadonlySet<string> = new Set([
  'set',
  'reset',
  'discard',
  'all',
  'local',
  'session',
  'transaction',
  'characteristics',
  'holdfast',
]);

/** Only words that are expected there: an error says nothing of what else was in the text. */
function refused(head: readonly SqlToken[], words: ReadonlySet<string>): TransactionControl {
  const isKnown = (token: SqlToken): boolean => words.has(token) || OUR_SETTINGS.test(token);
  const end = head.findIndex((token) => !isKnown(token));
  return { kind: 'refused', statement: head.slice(0, end === -1 ? 4 : Math.min(end, 4)).join(' ') };
}
