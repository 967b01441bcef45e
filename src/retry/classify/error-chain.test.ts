import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../../kernel/error.ts';
import { eventHandlerClassifier, serviceCallClassifier } from '../classifier.ts';

function withCode(code: string, cause?: unknown): Error {
  return Object.assign(new Error('failed', { cause }), { code });
}

function wrapped(error: unknown, times: number): Error {
  let at = new Error('wrapper', { cause: error });
  for (let i = 1; i < times; i++) at = new Error('wrapper', { cause: at });
  return at;
}

describe('values that are no proper errors', () => {
  const cyclic = new Error('a');
  cyclic.cause = new Error('b', { cause: cyclic });
  const self = new Error('self');
  self.cause = self;
  const throwing = new Proxy(new Error('x'), {
    get() {
      throw new Error('do not look');
    },
  });
  const untouchable = Proxy.revocable({}, {});
  untouchable.revoke();
  const values: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['a string', 'ECONNRESET'],
    ['a number', 503],
    ['a symbol', Symbol('x')],
    ['a function', () => 503],
    ['a frozen object', Object.freeze({ reason: 'frozen' })],
    ['an object without a prototype', Object.create(null)],
    [
      'an object whose toString throws',
      {
        toString: () => {
          throw new Error('no');
        },
      },
    ],
    ['an error whose getters throw', throwing],
    ['a revoked proxy', untouchable.proxy],
    ['an error with a cyclic cause', cyclic],
    ['an error that is its own cause', self],
    ['an aggregate that holds itself', Object.assign(new AggregateError([]), { errors: [cyclic, self] })],
    ['an aggregate whose list is untouchable', Object.assign(new AggregateError([]), { errors: untouchable.proxy })],
  ];

  test.each(values)('%s is unknown, and nothing is thrown [F.15]', (_, value) => {
    expect(serviceCallClassifier(value)).toEqual({ verdict: 'fail', kind: 'unknown' });
    expect(eventHandlerClassifier(value)).toEqual({ verdict: 'retry', kind: 'unknown' });
  });

  test('a getter that throws hides nothing but itself [F.15]', () => {
    const error = Object.defineProperty(withCode('ECONNRESET'), 'response', {
      get() {
        throw new Error('do not look');
      },
    });
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNRESET' });
  });

  test('a hostile cause does not hide what the error itself says [F.15]', () => {
    expect(serviceCallClassifier(withCode('ECONNRESET', untouchable.proxy))).toMatchObject({
      verdict: 'retry',
      code: 'ECONNRESET',
    });
  });

  test('whatever is thrown, the answer is a plain failure [F.15]', () => {
    const codes = fc.constantFrom('ECONNRESET', '23505', 'PLT_KFK_X', 'insufficient_quota', 5, 14, 320, undefined);
    const odd = fc.record(
      {
        code: codes,
        status: fc.oneof(fc.integer(), fc.anything()),
        cause: fc.anything(),
        errors: fc.anything(),
        headers: fc.anything(),
        name: fc.anything(),
        response: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true }), odd), (value) => {
        const failure = serviceCallClassifier(value);
        expect(['retry', 'fail']).toContain(failure.verdict);
        expect(JSON.parse(JSON.stringify(failure))).toEqual(failure);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('wrappers', () => {
  test('one that says nothing is classified by its cause, permanent or passing [F.16]', () => {
    const permanent = Object.assign(new Error('bad request'), { status: 400 });
    expect(eventHandlerClassifier(wrapped(permanent, 1))).toEqual({ verdict: 'fail', kind: 'invalid', status: 400 });
    expect(serviceCallClassifier(wrapped(withCode('ECONNRESET'), 3))).toEqual({
      verdict: 'retry',
      kind: 'network',
      code: 'ECONNRESET',
    });
  });

  test('one that decides is not overruled by its cause [F.16]', () => {
    const error = Object.assign(new Error('answer', { cause: withCode('ECONNRESET') }), { status: 404 });
    expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'fail', kind: 'http', status: 404 });
  });

  test('eight levels down are read and the ninth is not [F.16]', () => {
    const permanent = Object.assign(new Error('bad request'), { status: 400 });
    expect(eventHandlerClassifier(wrapped(permanent, 8)).verdict).toBe('fail');
    expect(eventHandlerClassifier(wrapped(permanent, 9))).toEqual({ verdict: 'retry', kind: 'unknown' });
  });

  test('a chain that grows as it is read ends after 64 errors [F.16]', () => {
    let made = 0;
    class Endless extends Error {
      constructor() {
        super('again');
        made++;
      }
      override get cause(): unknown {
        return new Endless();
      }
      get lastError(): unknown {
        return new Endless();
      }
      get errors(): unknown[] {
        return [new Endless(), new Endless()];
      }
    }
    expect(serviceCallClassifier(new Endless())).toEqual({ verdict: 'fail', kind: 'unknown' });
    expect(made).toBeLessThan(64 * 5);
  });

  test('an error that wraps itself in every way is read once [F.16]', () => {
    let reads = 0;
    const error = Object.defineProperty(new AggregateError([]), 'issues', { get: () => void reads++ });
    Object.assign(error, {
      cause: error,
      lastError: error,
      originalError: error,
      socketError: error,
      errors: [error, error],
    });
    serviceCallClassifier(error);
    expect(reads).toBe(1);
  });
});

describe('errors side by side', () => {
  test('all addresses refused is one refused connection [S0.2]', () => {
    const members = [withCode('ECONNREFUSED'), withCode('ECONNREFUSED')];
    const happyEyeballs = Object.assign(new AggregateError(members), { code: 'ECONNREFUSED' });
    const expected = { verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' };
    expect(serviceCallClassifier(happyEyeballs)).toEqual(expected);
    expect(serviceCallClassifier(new AggregateError(members))).toEqual(expected);
    expect(serviceCallClassifier(new TypeError('fetch failed', { cause: happyEyeballs }))).toEqual(expected);
  });

  test('a final one outweighs passing ones, in any order [S4.3]', () => {
    const mixed = [withCode('ECONNRESET'), withCode('23505'), new Error('?')];
    for (const errors of [mixed, mixed.toReversed()]) {
      expect(eventHandlerClassifier(new AggregateError(errors))).toEqual({
        verdict: 'fail',
        kind: 'database',
        code: '23505',
      });
    }
  });

  test('the replies of a Redis transaction are looked at like an aggregate', () => {
    const reply = Object.assign(new Error('WRONGTYPE Operation'), { name: 'ReplyError' });
    const error = Object.assign(new Error('1 commands failed'), { replies: ['OK', reply], errorIndexes: [1] });
    expect(eventHandlerClassifier(error)).toMatchObject({ verdict: 'fail', code: 'WRONGTYPE' });
    const data = Object.assign(new Error('x'), { replies: [{ status: 404 }, { code: '23505' }] });
    expect(eventHandlerClassifier(data)).toEqual({ verdict: 'retry', kind: 'unknown' });
  });
});

describe('retries inside', () => {
  function stopped(attempts: number, cause: unknown): HoldfastError {
    const times = {
      lastFailure: { kind: 'http' },
      firstFailedAt: '',
      endedAt: '',
      state: { v: 1 as const, attempts: 3, waitedMs: 0, lastDelayMs: 0, startedAt: { wallMs: 0, monoMs: 0 } },
    };
    return new HoldfastError(
      'RETRY_STOPPED',
      { operation: 'inner', reason: 'attempts', attempts, waitedMs: 0, ...times },
      { cause },
    );
  }

  test('our own are classified by the last failure and their attempts are reported', () => {
    expect(serviceCallClassifier(stopped(3, withCode('ECONNRESET')))).toEqual({
      verdict: 'retry',
      kind: 'network',
      code: 'ECONNRESET',
      nestedAttempts: 3,
    });
    expect(serviceCallClassifier(wrapped(stopped(2, Object.assign(new Error(''), { status: 404 })), 1))).toMatchObject({
      verdict: 'fail',
      status: 404,
      nestedAttempts: 2,
    });
    expect(serviceCallClassifier(stopped(1, withCode('ECONNRESET')))).not.toHaveProperty('nestedAttempts');
  });

  test('those of the AWS SDK, kafkajs and the AI SDK are seen as well', () => {
    const aws = Object.assign(new Error(''), { $metadata: { httpStatusCode: 503, attempts: 3 } });
    const kafka = Object.assign(new Error('', { cause: withCode('ECONNREFUSED') }), {
      name: 'KafkaJSNumberOfRetriesExceeded',
      retryCount: 5,
      retriable: false,
    });
    const last = Object.assign(new Error(''), { statusCode: 503, isRetryable: true });
    const errors = [Object.assign(new Error(''), { statusCode: 400 }), last];
    const ai = Object.assign(new Error(''), { name: 'AI_RetryError', errors, lastError: last });
    expect(serviceCallClassifier(aws)).toMatchObject({ verdict: 'retry', nestedAttempts: 3 });
    expect(serviceCallClassifier(kafka)).toMatchObject({ verdict: 'retry', code: 'ECONNREFUSED', nestedAttempts: 6 });
    expect(serviceCallClassifier(ai)).toMatchObject({ verdict: 'retry', status: 503, nestedAttempts: 2 });
  });
});
