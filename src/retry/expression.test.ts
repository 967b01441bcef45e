import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../kernel/error.ts';
import { compileExpression } from './expression.ts';

function value(text: string, retried = 0): number {
  return compileExpression(text).evaluate(retried);
}

function refusal(text: string): { position: number; problem: string } {
  try {
    compileExpression(text);
  } catch (error) {
    if (isHoldfastError(error, 'BAD_EXPRESSION'))
      return { position: error.details.position, problem: error.details.problem };
    throw error;
  }
  throw new Error(`${text} was not refused`);
}

describe('values', () => {
  test('10000 * pow(2, retried) gives 10, 20, 40, 80, 160 seconds [S3.1]', () => {
    const { evaluate } = compileExpression('10000 * pow(2, retried)');
    expect([0, 1, 2, 3, 4].map(evaluate)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000]);
  });

  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['10 - 3 - 2', 5],
    ['100 / 10 / 2', 5],
    ['2 - -3', 5],
    ['--3', 3],
    ['-2 * -3', 6],
    ['-(1 + 2)', -3],
    ['- pow(2, 2)', -4],
    ['1.5e3 + .5', 1500.5],
    ['1E-2', 0.01],
    ['2e+2', 200],
    ['pow(2, 10)', 1024],
    ['sqrt(16)', 4],
    ['abs(-4)', 4],
    ['exp(0)', 1],
    ['floor(1.9)', 1],
    ['ceil(1.1)', 2],
    ['round(2.5)', 3],
    ['min(3)', 3],
    ['min(3, 1, 2)', 1],
    ['max(3, 1, 2, 7)', 7],
    ['\t max(\n retried , 5 ) ', 5],
    ['min(86400, exp(2.5 * retried)) * 1000', 1000],
  ])('%s is %d [S3.1]', (text, expected) => {
    expect(value(text)).toBe(expected);
  });

  test('a formula without an answer gives NaN or Infinity and never throws [S3.1]', () => {
    expect(value('0 / retried')).toBeNaN();
    expect(value('1 / retried')).toBe(Infinity);
    expect(value('-pow(10, 400)')).toBe(-Infinity);
    expect(value('1e999')).toBe(Infinity);
    expect(value('sqrt(0 - 1)')).toBeNaN();
    expect(value('retried', Number.NaN)).toBeNaN();
  });
});

describe('refusals', () => {
  test.each([
    ['', 0, 'expected a number, "retried", a function or "(", found the end'],
    ['   ', 3, 'found the end'],
    ['1000 * retries', 7, 'unknown name "retries"; did you mean "retried"?'],
    ['1000 * Retried', 7, 'did you mean "retried"?'],
    ['foo', 0, 'unknown name "foo"; known is retried'],
    ['pwo(2, 3)', 0, 'unknown function "pwo"; did you mean "pow"?'],
    ['toString(1)', 0, 'unknown function "toString"; known are pow, sqrt'],
    ['constructor', 0, 'unknown name "constructor"'],
    ['__proto__', 0, 'unknown name "__proto__"'],
    ['retried(2)', 7, '"retried" is a number and cannot be called'],
    ['pow * 2', 4, 'the function "pow" needs its arguments in parentheses'],
    ['1 + pow(2)', 4, 'the function "pow" takes 2 arguments and was given 1'],
    ['pow(1, 2, 3)', 0, 'takes 2 arguments and was given 3'],
    ['sqrt()', 0, 'the function "sqrt" takes 1 argument and was given 0'],
    ['min()', 0, 'the function "min" takes at least 1 argument and was given 0'],
    ['(1 + 2', 6, 'the "(" at position 0 is never closed'],
    ['max(1, (2)', 10, 'the "(" at position 3 is never closed'],
    ['1 + 2)', 5, 'this ")" closes nothing'],
    ['(1, 2)', 2, 'expected an operator or ")", found ","'],
    ['max(1 2)', 6, 'expected an operator, "," or ")", found "2"'],
    ['max(1,)', 6, 'found ")"'],
    ['1, 2', 1, 'expected an operator or the end, found ","'],
    ['1 2', 2, 'expected an operator or the end, found "2"'],
    ['2 ** 3', 3, 'found "*"'],
    ['2 ^ 3', 2, 'found "^"'],
    ['7 % 2', 2, 'found "%"'],
    ['+1', 0, 'found "+"'],
    ['1 +', 3, 'found the end'],
    ['1.', 1, 'expected a digit after the decimal point'],
    ['1.2.3', 3, 'expected a digit after the decimal point'],
    ['.', 0, 'expected a digit after the decimal point'],
    ['1e', 1, 'a number may not run into "e"'],
    ['0x10', 1, 'a number may not run into "x"'],
    ['2retried', 1, 'a number may not run into "r"'],
    ['1 + 😀', 4, 'found "😀"'],
    ['process.exit(1)', 0, 'unknown name "process"'],
  ])('%j is refused at position %d: %s [S3.1]', (text, position, problem) => {
    expect(refusal(text).position).toBe(position);
    expect(refusal(text).problem).toContain(problem);
  });

  test('the message shows the expression, the position and an example to copy [S3.1]', () => {
    expect(() => compileExpression('5 * retrie')).toThrow(
      'the delay expression "5 * retrie" is wrong at position 4: unknown name "retrie"; did you mean "retried"?; write for example "10000 * pow(2, retried)"',
    );
  });

  test('something that is not a string is refused as a bad expression [S3.1]', () => {
    expect(refusal(undefined as never).problem).toBe('it is not a string');
    expect(refusal(5 as never).problem).toBe('it is not a string');
  });

  test('1,000 characters are taken, 1,001 are refused without being repeated in the message [S3.1]', () => {
    expect(value(`1${'+1'.repeat(499)} `)).toBe(500);
    expect(refusal('1'.repeat(1001))).toEqual({
      position: 1000,
      problem: 'it has 1001 characters and 1000 is the most',
    });
    expect(() => compileExpression('9'.repeat(100_000))).toThrow(/^.{1,300}$/);
  });

  test.each([
    ['parentheses', (n: number) => `${'('.repeat(n)}1${')'.repeat(n)}`],
    ['signs', (n: number) => `${'-'.repeat(n)}1`],
    ['calls', (n: number) => `${'abs('.repeat(n)}1${')'.repeat(n)}`],
  ])('100 nested %s are taken and 101 are refused, so nothing reaches the end of the stack [S3.1]', (_, nested) => {
    expect(value(nested(100))).toBe(1);
    expect(refusal(nested(101)).problem).toBe('it is nested more than 100 levels deep');
  });

  test('siblings do not count as nesting [S3.1]', () => {
    expect(value(Array.from({ length: 150 }, () => '(1)').join('+'))).toBe(150);
  });
});

type Ast =
  | { type: 'number'; value: number }
  | { type: 'retried' }
  | { type: 'negate'; of: Ast }
  | { type: 'binary'; sign: '+' | '-' | '*' | '/'; left: Ast; right: Ast }
  | { type: 'call'; name: string; args: Ast[] };

const { ast } = fc.letrec<{ ast: Ast }>((tie) => ({
  ast: fc.oneof(
    { maxDepth: 4 },
    fc.double({ min: 0, max: 1e6, noNaN: true }).map((n): Ast => ({ type: 'number', value: n })),
    fc.constant<Ast>({ type: 'retried' }),
    tie('ast').map((of): Ast => ({ type: 'negate', of })),
    fc
      .tuple(fc.constantFrom('+', '-', '*', '/'), tie('ast'), tie('ast'))
      .map(([sign, left, right]): Ast => ({ type: 'binary', sign, left, right })),
    fc
      .tuple(fc.constantFrom('sqrt', 'abs', 'exp', 'floor', 'ceil', 'round'), tie('ast'))
      .map(([name, arg]): Ast => ({ type: 'call', name, args: [arg] })),
    fc.tuple(tie('ast'), tie('ast')).map((args): Ast => ({ type: 'call', name: 'pow', args })),
    fc
      .tuple(fc.constantFrom('min', 'max'), fc.array(tie('ast'), { minLength: 1, maxLength: 3 }))
      .map(([name, args]): Ast => ({ type: 'call', name, args })),
  ),
}));

function binds(tree: Ast): number {
  if (tree.type === 'binary') return tree.sign === '+' || tree.sign === '-' ? 1 : 2;
  return tree.type === 'negate' ? 3 : 4;
}

/** Prints with as few parentheses as the grammar allows, so that precedence and associativity are what is tested. */
function print(tree: Ast, atLeast = 0): string {
  const text = bare(tree);
  return binds(tree) < atLeast ? `(${text})` : text;
}

function bare(tree: Ast): string {
  switch (tree.type) {
    case 'number':
      return String(tree.value);
    case 'retried':
      return 'retried';
    case 'negate':
      return `-${print(tree.of, 3)}`;
    case 'binary':
      return `${print(tree.left, binds(tree))} ${tree.sign} ${print(tree.right, binds(tree) + 1)}`;
    case 'call':
      return `${tree.name}(${tree.args.map((arg) => print(arg)).join(', ')})`;
  }
}

function reference(tree: Ast, retried: number): number {
  switch (tree.type) {
    case 'number':
      return tree.value;
    case 'retried':
      return retried;
    case 'negate':
      return -reference(tree.of, retried);
    case 'binary': {
      const [a, b] = [reference(tree.left, retried), reference(tree.right, retried)];
      return tree.sign === '+' ? a + b : tree.sign === '-' ? a - b : tree.sign === '*' ? a * b : a / b;
    }
    case 'call': {
      const call = Reflect.get(Math, tree.name) as (...args: number[]) => number;
      return call(...tree.args.map((arg) => reference(arg, retried)));
    }
  }
}

describe('properties', () => {
  test('any printed tree is parsed back to the value of a reference evaluator [S3.1]', () => {
    fc.assert(
      fc.property(ast, fc.nat(50), (tree, retried) => {
        const text = print(tree);
        fc.pre(text.length <= 1000);
        expect(value(text, retried)).toBe(reference(tree, retried));
      }),
      { numRuns: 1000 },
    );
  });

  test(
    'any text is either compiled or refused with a position inside it, and nothing else is thrown [S3.1]',
    { timeout: 60_000 },
    () => {
      const pieces = [
        'pow',
        'retried',
        'min',
        '(',
        ')',
        ',',
        '+',
        '-',
        '*',
        '/',
        '1',
        '2.5',
        '.',
        'e',
        ' ',
        'x',
        '\u0000',
      ];
      const nearly = fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((parts) => parts.join(''));
      fc.assert(
        fc.property(fc.oneof(nearly, fc.string({ unit: 'binary' })), (text) => {
          let evaluate: (retried: number) => number;
          try {
            ({ evaluate } = compileExpression(text));
          } catch (error) {
            if (!isHoldfastError(error, 'BAD_EXPRESSION')) throw error;
            expect(error.details.position).toBeGreaterThanOrEqual(0);
            expect(error.details.position).toBeLessThanOrEqual(text.length);
            expect(error.details.problem).not.toBe('');
            return;
          }
          expect(typeof evaluate(3)).toBe('number');
        }),
        { numRuns: 2000 },
      );
    },
  );
});
