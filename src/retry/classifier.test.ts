import { describe, expect, test } from 'vitest';
import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import {
  type ClassifierOptions,
  createClassifier,
  eventHandlerClassifier,
  serviceCallClassifier,
  streamClassifier,
} from './classifier.ts';
import { TerminalHandlerError } from './terminal-handler-error.ts';

const NOW = Date.UTC(2026, 10, 15, 12);

function withStatus(status: number, more: object = {}): Error {
  return Object.assign(new Error('answer'), { status, ...more });
}

function withCode(code: unknown, more: object = {}): Error {
  return Object.assign(new Error('failed'), { code, ...more });
}

function retriedStatuses(classify: (error: unknown) => { verdict: string }): number[] {
  return Array.from({ length: 300 }, (_, i) => 300 + i).filter(
    (status) => classify(withStatus(status)).verdict === 'retry',
  );
}

describe('a service call', () => {
  test('is retried for exactly 408, 425, 429, 500, 502, 503 and 504 [S0.2]', () => {
    expect(retriedStatuses(serviceCallClassifier)).toEqual([408, 425, 429, 500, 502, 503, 504]);
  });

  test.each([
    [400, 'invalid'],
    [401, 'auth'],
    [403, 'auth'],
    [404, 'http'],
    [422, 'invalid'],
  ])('is never retried for %d, wherever the client keeps the status [S0.2]', (status, kind) => {
    const places = [
      { status },
      { statusCode: status },
      { response: { status } },
      { response: { statusCode: status } },
      { $metadata: { httpStatusCode: status } },
    ];
    for (const place of places) {
      const error = Object.assign(new Error('answer'), place);
      expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'fail', kind, status });
    }
  });

  test('a 409 is a conflict that fails, and may be declared otherwise for one operation [S0.2]', () => {
    expect(serviceCallClassifier(withStatus(409))).toEqual({ verdict: 'fail', kind: 'conflict', status: 409 });
    const createIfAbsent = createClassifier({ unknown: 'fail', statuses: { 409: 'retry' } });
    expect(createIfAbsent(withStatus(409)).verdict).toBe('retry');
    expect(createIfAbsent(withStatus(404)).verdict).toBe('fail');
  });

  test.each(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'EHOSTUNREACH', 'UND_ERR_SOCKET'])(
    'a network error %s is retried [S0.2]',
    (code) => {
      expect(serviceCallClassifier(withCode(code))).toEqual({ verdict: 'retry', kind: 'network', code });
    },
  );

  test('timeouts and aborts by a timeout are retried [S0.2]', () => {
    const timeouts = [
      new HoldfastError('ATTEMPT_TIMEOUT', { operation: 'charge', attempt: 1, timeoutMs: 10 }),
      withCode('ETIMEDOUT'),
      withCode('UND_ERR_HEADERS_TIMEOUT'),
      new DOMException('timed out', 'TimeoutError'),
      new DOMException('aborted', 'AbortError'),
      withCode('ABORT_ERR', { name: 'AbortError' }),
    ];
    for (const error of timeouts)
      expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'retry', kind: 'timeout' });
  });

  test('an error that only bears the name AbortError is not taken for a timeout', () => {
    expect(serviceCallClassifier(Object.assign(new Error('stop'), { name: 'AbortError' }))).toEqual({
      verdict: 'fail',
      kind: 'unknown',
    });
  });

  test('an error that no rule knows fails and is called unknown [S0.2]', () => {
    expect(serviceCallClassifier(new Error('503 ECONNRESET overloaded_error timeout'))).toEqual({
      verdict: 'fail',
      kind: 'unknown',
    });
    expect(serviceCallClassifier(new TypeError('fetch failed'))).toEqual({ verdict: 'fail', kind: 'unknown' });
    expect(serviceCallClassifier(withCode('E_OURS'))).toEqual({ verdict: 'fail', kind: 'unknown', code: 'E_OURS' });
  });
});

describe('an event handler', () => {
  test('an error that no rule knows is tried again and called unknown [S4.3]', () => {
    expect(eventHandlerClassifier(new Error('?'))).toEqual({ verdict: 'retry', kind: 'unknown' });
    expect(eventHandlerClassifier(new TypeError('undefined is not a function')).verdict).toBe('retry');
    expect(eventHandlerClassifier(undefined).verdict).toBe('retry');
  });

  test.each(['23000', '23502', '23503', '23505', '23514', '23P01'])(
    'the integrity error %s is terminal [S4.3]',
    (code) => {
      const error = withCode(code, { severity: 'ERROR' });
      expect(eventHandlerClassifier(error)).toEqual({ verdict: 'fail', kind: 'database', code });
    },
  );

  test.each(['40001', '40P01', '55P03', '57P01', '57P02', '57P03', '08000', '08006', '53300', '53200', '57014'])(
    'the SQLSTATE %s is transient for handlers and for service calls [S4.3]',
    (code) => {
      expect(eventHandlerClassifier(withCode(code)).verdict).toBe('retry');
      expect(serviceCallClassifier(withCode(code)).verdict).toBe('retry');
    },
  );

  test.each(['28P01', '3D000', '42P01', '42601', '22P02', 'XX000', '25006', 'P0001'])(
    'the SQLSTATE %s is nobody’s fault for certain: a handler tries again, a service call fails [S4.3]',
    (code) => {
      const error = withCode(code, { severity: 'ERROR' });
      expect(eventHandlerClassifier(error)).toMatchObject({ verdict: 'retry', code });
      expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'fail', code });
    },
  );

  test('a payload that does not fit its schema is terminal [S4.3] [S0.2]', () => {
    const invalid = [
      Object.assign(new Error('x'), { issues: [{ message: 'expected a string', path: ['id'] }] }),
      Object.assign(new Error('x'), { name: 'ZodError', issues: [] }),
      Object.assign(new Error('x'), { name: 'ValidationError' }),
      new HoldfastError('HTTP_BODY_INVALID', {
        operation: 'get',
        url: 'u',
        status: 200,
        requestId: 'r',
        reason: 'refused',
        problem: 'the schema refuses id',
      }),
    ];
    for (const error of invalid) {
      expect(eventHandlerClassifier(error)).toMatchObject({ verdict: 'fail', kind: 'invalid' });
      expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'fail', kind: 'invalid' });
    }
  });

  test('a classified 400, 401, 403, 404 or 409 is terminal although unknown errors are not [S4.3]', () => {
    for (const status of [400, 401, 403, 404, 409])
      expect(eventHandlerClassifier(withStatus(status)).verdict).toBe('fail');
  });

  test('registered error types are terminal, subclasses and causes too [S4.3]', () => {
    class NoSuchOrder extends Error {}
    class NoSuchLine extends NoSuchOrder {}
    const classify = createClassifier({ unknown: 'retry', terminalErrors: [NoSuchOrder] });
    expect(classify(new NoSuchLine('x'))).toEqual({ verdict: 'fail', kind: 'terminal' });
    expect(classify(new Error('wrapped', { cause: new NoSuchOrder('x') }))).toEqual({
      verdict: 'fail',
      kind: 'terminal',
    });
    expect(classify(new Error('x')).verdict).toBe('retry');
  });
});

describe('TerminalHandlerError', () => {
  class OrderClosed extends TerminalHandlerError {}

  test.each([
    ['serviceCall', serviceCallClassifier],
    ['eventHandler', eventHandlerClassifier],
    ['stream', streamClassifier],
    ['one whose before says retry', createClassifier({ unknown: 'retry', before: () => 'retry' })],
  ])('is final for the classifier %s, thrown, extended or wrapped [S4.3] [F.17]', (_, classify) => {
    const final = { verdict: 'fail', kind: 'terminal' };
    expect(classify(new TerminalHandlerError('no'))).toMatchObject(final);
    expect(classify(new OrderClosed('no'))).toMatchObject(final);
    expect(classify(new Error('handler failed', { cause: new OrderClosed('no') }))).toMatchObject(final);
    expect(classify(withStatus(503, { cause: new OrderClosed('no') }))).toMatchObject(final);
    expect(classify(new AggregateError([withCode('ECONNRESET'), new OrderClosed('no')]))).toMatchObject(final);
  });

  test('made by another copy of the package it is known all the same [S4.3]', () => {
    class Foreign extends Error {}
    Object.defineProperty(Foreign.prototype, Symbol.for('holdfast.terminal'), { value: true });
    expect(eventHandlerClassifier(new Foreign('no'))).toEqual({ verdict: 'fail', kind: 'terminal' });
  });

  test('keeps its cause, its name and the facts of what it wraps [S4.3]', () => {
    const cause = withStatus(503);
    const error = new TerminalHandlerError('gave up', { cause });
    expect(error).toMatchObject({ name: 'TerminalHandlerError', message: 'gave up', cause });
    expect(JSON.stringify(error)).toBe('{"name":"TerminalHandlerError"}');
    expect(eventHandlerClassifier(error)).toEqual({ verdict: 'fail', kind: 'terminal', status: 503 });
  });
});

describe('a stream before content', () => {
  test('overload and rate limits are retried by status or by code, in-band errors too [S2.2]', () => {
    const transient = [
      withStatus(529),
      withStatus(429, { code: 'rate_limit_exceeded' }),
      { type: 'error', error: { type: 'overloaded_error' } },
      withCode('server_is_overloaded'),
      withCode('slow_down'),
      Object.assign(new Error('x'), { type: 'rate_limit_error' }),
      new HoldfastError('STREAM_TRUNCATED', { contentChunks: 0, contentLength: 0 }),
      new Error('unknown'),
    ];
    for (const error of transient) expect(streamClassifier(error).verdict).toBe('retry');
  });

  test('a spent quota stops although it arrives as a 429 [S2.2]', () => {
    for (const error of [
      withStatus(429, { code: 'insufficient_quota' }),
      withStatus(429, { code: null, error: { type: 'insufficient_quota' } }),
      withStatus(429, { data: { error: { code: 'insufficient_quota' } } }),
      withCode('insufficient_quota'),
    ]) {
      expect(streamClassifier(error)).toMatchObject({ verdict: 'fail', kind: 'quota', code: 'insufficient_quota' });
    }
  });

  test('a classified 400, 401, 403 or 404 is never retried, in-band neither [S2.2]', () => {
    for (const status of [400, 401, 403, 404]) expect(streamClassifier(withStatus(status)).verdict).toBe('fail');
    for (const type of ['invalid_request_error', 'authentication_error', 'permission_error', 'not_found_error']) {
      expect(streamClassifier({ type: 'error', error: { type } }).verdict).toBe('fail');
    }
  });

  test('where the status decides, a code in the body does not overrule it', () => {
    expect(streamClassifier(withStatus(500, { type: 'invalid_request_error' })).verdict).toBe('retry');
    expect(streamClassifier(withStatus(400, { type: 'api_error' })).verdict).toBe('fail');
  });
});

describe('what the server said', () => {
  const classify = createClassifier({ unknown: 'fail', now: () => NOW });

  test('a hint is read from wherever the client keeps the headers [F.18]', () => {
    const headers = { 'Retry-After': '7' };
    const hint = { afterMs: 7000, source: 'retry-after' };
    for (const place of [
      { headers },
      { headers: new Headers(headers) },
      { response: { headers } },
      { responseHeaders: headers },
      { $response: { headers }, $metadata: { httpStatusCode: 503 } },
    ]) {
      expect(classify(withStatus(503, place))).toMatchObject({ verdict: 'retry', status: 503, hint });
    }
    expect(classify(new Response(null, { status: 503, headers }))).toMatchObject({
      verdict: 'retry',
      status: 503,
      hint,
    });
    expect(classify(new Error('wrapped', { cause: withStatus(503, { headers }) }))).toMatchObject({ hint });
  });

  test('a date in a hint is measured by the clock that was handed in [F.18]', () => {
    const headers = { 'retry-after': new Date(NOW + 5000).toUTCString() };
    expect(classify(withStatus(503, { headers })).hint?.afterMs).toBe(5000);
  });

  test('rate-limit headers count for a 429 only [F.18]', () => {
    const headers = { 'x-ratelimit-reset': '9' };
    expect(classify(withStatus(429, { headers })).hint?.afterMs).toBe(9000);
    expect(classify(withStatus(503, { headers })).hint).toBeUndefined();
  });

  test('its no ends a retryable failure, with its own reason [F.18]', () => {
    const no = withStatus(503, { headers: { 'x-should-retry': 'false' } });
    expect(classify(no)).toMatchObject({ verdict: 'fail', reason: 'server-said-no', status: 503 });
    const overridden = createClassifier({ unknown: 'retry', statuses: { 503: 'retry' } });
    expect(overridden(no).reason).toBe('server-said-no');
  });

  test('its yes decides where no rule does, and never for a 400, 401, 403 or 404 [F.18]', () => {
    const yes = { headers: { 'x-should-retry': 'true' } };
    expect(classify(withStatus(529, yes)).verdict).toBe('retry');
    expect(classify(withStatus(520, yes)).verdict).toBe('retry');
    for (const status of [400, 401, 403, 404, 409]) expect(classify(withStatus(status, yes)).verdict).toBe('fail');
  });
});

describe('overrides', () => {
  test('a code goes before a status, and both before the tables', () => {
    const classify = createClassifier({
      unknown: 'fail',
      codes: {
        ECONNRESET: 'fail',
        '23505': 'retry',
        insufficient_quota: 'retry',
        E_OURS: 'retry',
        UNAVAILABLE: 'fail',
      },
      statuses: { 404: 'retry', 429: 'fail' },
    });
    expect(classify(withCode('ECONNRESET')).verdict).toBe('fail');
    expect(classify(new TypeError('fetch failed', { cause: withCode('ECONNRESET') })).verdict).toBe('fail');
    expect(classify(withCode('23505'))).toEqual({ verdict: 'retry', kind: 'database', code: '23505' });
    expect(classify(withCode('E_OURS')).verdict).toBe('retry');
    expect(classify(withCode(14, { details: '', metadata: {} })).verdict).toBe('fail');
    expect(classify(withStatus(404)).verdict).toBe('retry');
    expect(classify(withStatus(429)).verdict).toBe('fail');
    expect(classify(withStatus(429, { code: 'insufficient_quota' })).verdict).toBe('retry');
  });

  test('names from the prototype are not codes', () => {
    const classify = createClassifier({ unknown: 'fail', codes: {}, statuses: {} });
    for (const code of ['constructor', 'toString', '__proto__']) expect(classify(withCode(code)).verdict).toBe('fail');
  });

  test('before may give a verdict, which keeps the facts, or a whole failure, or leave it open', () => {
    const other = { verdict: 'retry', kind: 'overload', code: 'busy' } as const;
    const classify = createClassifier({
      unknown: 'fail',
      before: (error) => (error === 'busy' ? other : error instanceof RangeError ? 'retry' : undefined),
    });
    expect(classify('busy')).toBe(other);
    expect(classify(Object.assign(new RangeError('x'), { status: 404 }))).toEqual({
      verdict: 'retry',
      kind: 'http',
      status: 404,
    });
    expect(classify(withStatus(404)).verdict).toBe('fail');
  });

  test.each([false, null, true, 'maybe', 5, {}, { verdict: 'maybe' }, Promise.resolve('retry')])(
    'an answer of before that is none, such as %o, is refused with what to write',
    (answer) => {
      const before = (() => answer) as unknown as () => undefined;
      const classify = createClassifier({ unknown: 'retry', before });
      expect(() => classify(new Error('?'))).toThrow(/createClassifier\(\).* before\(error\) is .*'retry', 'fail'/);
    },
  );

  test('classifiers compose: one may stand before another', () => {
    const partner = createClassifier({ unknown: 'fail', statuses: { 404: 'retry' } });
    const classify = createClassifier({ unknown: 'retry', before: partner });
    expect(classify(withStatus(404)).verdict).toBe('retry');
    expect(classify(new Error('?')).verdict).toBe('fail');
  });

  test('all wrong options are refused at once, by name', () => {
    const options = {
      unknown: 'maybe',
      statuses: { 404: 'yes', 42: 'retry' },
      codes: { E: true },
      terminalErrors: ['TypeError'],
      before: 'retry',
      now: 5,
      status: {},
    } as unknown as ClassifierOptions;
    let refused: unknown;
    try {
      createClassifier(options);
    } catch (error) {
      refused = error;
    }
    if (!isHoldfastError(refused, 'INVALID_OPTIONS')) throw new Error('not refused');
    expect(refused.details.problems.map((p) => p.option).toSorted()).toEqual(
      ['before', 'codes.E', 'now', 'status', 'statuses.404', 'statuses.42', 'terminalErrors', 'unknown'].toSorted(),
    );
    expect(refused.message).toContain('did you mean statuses?');
  });
});
