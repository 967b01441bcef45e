import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { transactionControl } from './transaction-control.ts';

const found = (text: string): string | undefined => {
  const control = transactionControl(text);
  return control?.kind === 'refused' ? `refused: ${control.statement}` : control?.kind;
};

test.each([
  ['begin', 'begin'],
  ['BEGIN;', 'begin'],
  ['start transaction', 'begin'],
  [' ;; Begin Work ; ', 'begin'],
  ['commit', 'commit'],
  ['END transaction', 'commit'],
  ['/* a /* nested */ one */ -- and a line\n commit', 'commit'],
  ['--\rcommit', 'commit'],
  ['rollback', 'rollback'],
  ['abort work', 'rollback'],
  ['begin isolation level serializable', 'refused: begin isolation'],
  ['start transaction read only', 'refused: start transaction read only'],
  ['commit and chain', 'refused: commit and chain'],
  ['rollback and chain', 'refused: rollback and chain'],
  ['commit prepared $$x$$', 'refused: commit prepared'],
  ["rollback prepared 'x'", 'refused: rollback prepared'],
  ["prepare transaction 'x'", 'refused: prepare transaction'],
  ['insert into t values (1); commit', 'refused: commit among other statements'],
  ['commit; begin', 'refused: commit among other statements'],
  ['select 1;/**/commit;--', 'refused: commit among other statements'],
  ["select $$;$$, $a$ $$ ; $a$, E'\\';', '\\'; commit", 'refused: commit among other statements'],
  ["select e'\\'' ; commit; --'", 'refused: commit among other statements'],
  ["select 'a\\'; commit; --'", 'refused: commit among other statements'],
  ["select 'x\\'' ; commit; select '", 'refused: commit among other statements'],
  ["select e'a'\n-- on\n'b\\''; commit; --'", 'refused: commit among other statements'],
  ['select a$b$ from t; commit; select $b$ from t', 'refused: commit among other statements'],
  ['select $1$$ ;$$; commit', 'refused: commit among other statements'],
  ['create function f() returns int begin atomic select 1; end; end', 'refused: commit among other statements'],
  ['create function f() returns int begin atomic end; end', 'refused: commit among other statements'],
  ['create function begin() returns int as $$select 1$$; commit', 'refused: commit among other statements'],
  ['create view v as select begin atomic from t; end', 'refused: commit among other statements'],
  [
    'create function f(a int default (select begin atomic from t)) return 1; end',
    'refused: commit among other statements',
  ],
  ['set transaction read only', 'refused: set transaction'],
  ['set local transaction isolation level serializable', 'refused: set local transaction'],
  ['set session characteristics as transaction read only', 'refused: set session characteristics'],
  ['set transaction_read_only = on', 'refused: set transaction_read_only'],
  ['set local "transaction_isolation" to serializable', 'refused: set local transaction_isolation'],
  ['set u&"transaction\\005fread_only" = on', 'refused: set'],
  ['set default_transaction_read_only to on', 'refused: set default_transaction_read_only'],
  ["set local holdfast.effect = 'open'", 'refused: set local holdfast'],
  ['reset all', 'refused: reset all'],
  ['discard all', 'refused: discard all'],
])('%j is found: %s [X.3]', (text, expected) => {
  expect(found(text)).toBe(expected);
});

test.each([
  'select 1',
  ' (select 1)',
  'select case when true then 1 end',
  'update t set transaction_read_only = true',
  'savepoint a',
  'rollback to a',
  'ROLLBACK WORK TO SAVEPOINT a',
  'release savepoint a',
  'savepoint a; insert into t values (1); release a',
  'prepare x as select 1',
  'set local search_path = x',
  'set local role app',
  'set lock_timeout = 1',
  'reset role',
  'discard temp',
  "insert into t values ('commit;')",
  "insert into t values ('a''; commit; --')",
  String.raw`insert into t values ('C:\'), ('x')`,
  String.raw`insert into t values (E'a\'; commit; --')`,
  `insert into "a;commit;" values (1); select 1`,
  'select 1; -- ; commit',
  'select 1 /* ; commit; /* ; commit */ ; commit */; select 2',
  'do $$ begin perform 1; commit; end $$; select 1',
  'create function f() returns int begin atomic select 1; select case when true then 1 end; end; select 2',
  'create or replace procedure p(n numeric(2)) begin atomic insert into t values (n); end; select 2',
  'select 1 as end; select 2 as commit',
  'select "begin";',
  'committed',
  '',
  ';',
])('%j is left alone [X.3]', (text) => {
  expect(found(text)).toBeUndefined();
});

describe('a statement made of parts', () => {
  const blank = fc.constantFrom(' ', '\n', '\t', '/* ; commit; */', '/* /* ; */ commit */', '-- ; commit\n', '\r\n');
  const blanks = fc.array(blank, { maxLength: 3 }).map((parts) => parts.join(''));
  const words = fc.constantFrom('; commit; ', "''", '"', '$$', '/*', '*/', '--', '; rollback', 'begin', 'é', '\n');
  const inside = fc
    .array(fc.oneof(words, fc.string({ maxLength: 4 })), { maxLength: 5 })
    .map((parts) => parts.join(''));
  const literal = fc.oneof(
    inside.map((text) => `'${text.replaceAll("'", "''").replaceAll('\\', '/')}'`),
    inside.map((text) => `E'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`),
    inside.map((text) => `"a${text.replaceAll('"', '""')}"`),
    inside.map((text) => `$tag$${text.replaceAll('$', '')}$tag$`),
    inside.map((text) => `/*${text.replaceAll(/[*/]/g, '')}*/`),
    inside.map((text) => `--${text.replaceAll(/[\n\r]/g, ' ')}\n`),
  );
  const harmless = fc
    .tuple(blanks, fc.array(fc.tuple(literal, blanks), { maxLength: 4 }))
    .map(([first, parts]) => `${first}select 1 ${parts.map((part) => part.join(' ')).join(' ')} x`);

  test('has no control in it as long as the words are in literals, names and comments [X.3]', () => {
    fc.assert(
      fc.property(fc.array(harmless, { minLength: 1, maxLength: 4 }), (statements) => {
        expect(found(statements.join(';'))).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test('has it wherever a control statement is put between the others [X.3]', () => {
    const control = fc.constantFrom(
      'commit',
      'ROLLBACK',
      'end',
      'abort work',
      'begin',
      'commit and chain',
      'discard all',
    );
    fc.assert(
      fc.property(
        fc.array(harmless, { maxLength: 3 }),
        fc.tuple(blanks, control, blanks),
        fc.array(harmless, { maxLength: 3 }),
        (before, parts, rest) => {
          expect(found([...before, parts.join(''), ...rest].join(';'))).toBeDefined();
        },
      ),
      { numRuns: 500 },
    );
  });
});
