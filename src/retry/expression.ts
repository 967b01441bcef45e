import { nearest } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';

/** A delay expression that was parsed once and may be evaluated any number of times. */
export interface CompiledExpression {
  /**
   * The value for `retried` (0 is the first retry). Never throws. The number may be negative, infinite or not a number,
   * as the formula has it (`1 / 0`, `sqrt(-1)`): whoever waits by it brings it into range.
   */
  evaluate(retried: number): number;
}

type Evaluate = (retried: number) => number;

interface Fn {
  readonly minArgs: number;
  readonly maxArgs: number;
  readonly call: (...args: number[]) => number;
}

const FUNCTIONS: ReadonlyMap<string, Fn> = new Map([
  ['pow', { minArgs: 2, maxArgs: 2, call: Math.pow }],
  ['sqrt', { minArgs: 1, maxArgs: 1, call: Math.sqrt }],
  ['abs', { minArgs: 1, maxArgs: 1, call: Math.abs }],
  ['exp', { minArgs: 1, maxArgs: 1, call: Math.exp }],
  ['floor', { minArgs: 1, maxArgs: 1, call: Math.floor }],
  ['ceil', { minArgs: 1, maxArgs: 1, call: Math.ceil }],
  ['round', { minArgs: 1, maxArgs: 1, call: Math.round }],
  ['min', { minArgs: 1, maxArgs: Infinity, call: Math.min }],
  ['max', { minArgs: 1, maxArgs: Infinity, call: Math.max }],
]);

const VARIABLE = 'retried';
const MAX_LENGTH = 1000;
// Parser and evaluator recurse once per level; 100 levels are far above any delay and far below any stack.
const MAX_DEPTH = 100;

/**
 * Parses a delay expression such as `10000 * pow(2, retried)`: `+ - * / ( )`, unary minus, decimal numbers with an
 * optional exponent, the name `retried`, and the functions pow, sqrt, abs, exp, floor, ceil, round, min and max.
 * Nothing of it is ever run as code. Throws `BAD_EXPRESSION` with the 0-based position and the problem in words; also
 * for more than 1,000 characters or more than 100 levels of nesting.
 */
export function compileExpression(text: string): CompiledExpression {
  if (typeof text !== 'string') throw bad(typeof text, 0, 'it is not a string');
  if (text.length > MAX_LENGTH) {
    throw bad(`${text.slice(0, 40)}…`, MAX_LENGTH, `it has ${text.length} characters and ${MAX_LENGTH} is the most`);
  }
  return { evaluate: new Parser(text).parse() };
}

/**
 * Recursive descent, one method per level of binding:
 * sum = product (('+' | '-') product)*, product = signed (('*' | '/') signed)*, signed = '-' signed | primary,
 * primary = number | 'retried' | function '(' sum (',' sum)* ')' | '(' sum ')'.
 */
class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Evaluate {
    const result = this.#sum();
    if (this.#peek() === ')') throw this.#bad('this ")" closes nothing');
    if (this.#peek() !== '') throw this.#bad(`expected an operator or the end, found ${this.#found()}`);
    return result;
  }

  #sum(): Evaluate {
    let left = this.#product();
    for (;;) {
      if (this.#take('+')) left = binary(left, this.#product(), (a, b) => a + b);
      else if (this.#take('-')) left = binary(left, this.#product(), (a, b) => a - b);
      else return left;
    }
  }

  #product(): Evaluate {
    let left = this.#signed();
    for (;;) {
      if (this.#take('*')) left = binary(left, this.#signed(), (a, b) => a * b);
      else if (this.#take('/')) left = binary(left, this.#signed(), (a, b) => a / b);
      else return left;
    }
  }

  #signed(): Evaluate {
    if (this.#peek() !== '-') return this.#primary();
    return this.#deeper(() => {
      this.#at++;
      const inner = this.#signed();
      return (retried) => -inner(retried);
    });
  }

  #primary(): Evaluate {
    const next = this.#peek();
    if (next === '(') {
      return this.#deeper(() => {
        const open = this.#at++;
        const inner = this.#sum();
        this.#close(open, 'an operator');
        return inner;
      });
    }
    if (/[0-9.]/.test(next)) return this.#number();
    if (/[A-Za-z_]/.test(next)) return this.#name();
    throw this.#bad(`expected a number, "${VARIABLE}", a function or "(", found ${this.#found()}`);
  }

  #number(): Evaluate {
    const digits = /^(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/.exec(this.#text.slice(this.#at))?.[0] ?? '';
    const after = this.#text.charAt(this.#at + digits.length);
    if (digits === '' || after === '.') {
      this.#at += digits.length;
      throw this.#bad('expected a digit after the decimal point');
    }
    if (/[A-Za-z_]/.test(after)) {
      this.#at += digits.length;
      throw this.#bad(
        `a number may not run into "${after}"; write an operator between them, or an exponent such as 1e3`,
      );
    }
    this.#at += digits.length;
    const value = Number(digits);
    return () => value;
  }

  #name(): Evaluate {
    const start = this.#at;
    const name = /^[A-Za-z_][A-Za-z0-9_]*/.exec(this.#text.slice(start))?.[0] ?? '';
    this.#at += name.length;
    const isCall = this.#peek() === '(';
    if (name === VARIABLE) {
      if (isCall) throw this.#bad(`"${VARIABLE}" is a number and cannot be called`);
      return (retried) => retried;
    }
    const fn = FUNCTIONS.get(name);
    if (fn === undefined) throw this.#unknown(name, start, isCall);
    if (!isCall) throw this.#bad(`the function "${name}" needs its arguments in parentheses`);
    return this.#deeper(() => this.#call(name, fn, start));
  }

  #call(name: string, fn: Fn, start: number): Evaluate {
    const open = this.#at++;
    const args: Evaluate[] = [];
    if (this.#peek() !== ')') {
      do args.push(this.#sum());
      while (this.#take(','));
    }
    this.#close(open, 'an operator, ","');
    if (args.length < fn.minArgs || args.length > fn.maxArgs) {
      const wanted =
        fn.maxArgs === Infinity ? 'at least 1 argument' : fn.minArgs === 1 ? '1 argument' : `${fn.minArgs} arguments`;
      throw this.#bad(`the function "${name}" takes ${wanted} and was given ${args.length}`, start);
    }
    return (retried) => fn.call(...args.map((arg) => arg(retried)));
  }

  #unknown(name: string, start: number, isCall: boolean): HoldfastError<'BAD_EXPRESSION'> {
    const known = isCall ? [...FUNCTIONS.keys()] : [VARIABLE];
    const near = nearest(name, known);
    const advice = near ? `did you mean "${near}"?` : `known ${isCall ? 'are' : 'is'} ${known.join(', ')}`;
    return this.#bad(`unknown ${isCall ? 'function' : 'name'} "${name}"; ${advice}`, start);
  }

  #close(open: number, expected: string): void {
    if (this.#take(')')) return;
    if (this.#peek() === '') throw this.#bad(`the "(" at position ${open} is never closed`);
    throw this.#bad(`expected ${expected} or ")", found ${this.#found()}`);
  }

  #deeper(parse: () => Evaluate): Evaluate {
    if (++this.#depth > MAX_DEPTH) throw this.#bad(`it is nested more than ${MAX_DEPTH} levels deep`);
    const result = parse();
    this.#depth--;
    return result;
  }

  /** The next character that is not white space, or '' at the end. */
  #peek(): string {
    while (/[ \t\r\n]/.test(this.#text.charAt(this.#at))) this.#at++;
    return this.#text.charAt(this.#at);
  }

  #take(sign: string): boolean {
    if (this.#peek() !== sign) return false;
    this.#at++;
    return true;
  }

  #found(): string {
    const next = this.#peek();
    return next === '' ? 'the end' : JSON.stringify(String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0));
  }

  #bad(problem: string, position: number = this.#at): HoldfastError<'BAD_EXPRESSION'> {
    return bad(this.#text, position, problem);
  }
}

function binary(left: Evaluate, right: Evaluate, apply: (a: number, b: number) => number): Evaluate {
  return (retried) => apply(left(retried), right(retried));
}

function bad(expression: string, position: number, problem: string): HoldfastError<'BAD_EXPRESSION'> {
  return new HoldfastError('BAD_EXPRESSION', { expression, position, problem });
}
