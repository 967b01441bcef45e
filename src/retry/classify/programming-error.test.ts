import { describe, expect, test } from 'vitest';
import { createClassifier, eventHandlerClassifier, serviceCallClassifier, streamClassifier } from '../classifier.ts';
import type { Failure } from '../failure.ts';

const bug = (code: string): Failure => ({ verdict: 'fail', kind: 'invalid', code });

describe('a bug in the code that runs', () => {
  test.each([
    ['ReferenceError', new ReferenceError('nope is not defined')],
    ['SyntaxError', new SyntaxError('Unexpected token')],
  ])('a %s fails for every classifier, wrapped too [S0.2] [S2.2] [S4.3]', (name, error) => {
    for (const classify of [serviceCallClassifier, eventHandlerClassifier, streamClassifier]) {
      expect(classify(error)).toEqual(bug(name));
      expect(classify(new Error('handler failed', { cause: error }))).toEqual(bug(name));
    }
  });

  test.each([
    ['TypeError', new TypeError('Cannot read properties of undefined')],
    ['RangeError', new RangeError('Invalid array length')],
  ])(
    'a %s fails a stream; a handler tries it again, and a service call does not know it [S2.2] [S4.3]',
    (name, error) => {
      expect(streamClassifier(error)).toEqual(bug(name));
      expect(eventHandlerClassifier(error)).toEqual({ verdict: 'retry', kind: 'unknown' });
      expect(serviceCallClassifier(error)).toEqual({ verdict: 'fail', kind: 'unknown' });
    },
  );

  test('a TypeError with a cause is how fetch reports a lost connection, and is retried [S2.2]', () => {
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    expect(streamClassifier(new TypeError('fetch failed', { cause: reset }))).toMatchObject({ kind: 'network' });
    expect(streamClassifier(new TypeError('terminated', { cause: undefined })).verdict).toBe('retry');
    expect(streamClassifier(new SyntaxError('cut off', { cause: reset })).verdict).toBe('retry');
  });

  test('what a client says about it goes first: a status, a code, or a wrapper of its own [S2.2]', () => {
    expect(streamClassifier(Object.assign(new TypeError('busy'), { status: 503 })).verdict).toBe('retry');
    expect(streamClassifier(Object.assign(new TypeError('busy'), { code: 'E_OURS' })).verdict).toBe('retry');
    expect(streamClassifier(Object.assign(new SyntaxError('busy'), { code: 'E_OURS' })).verdict).toBe('retry');
    const wrapped = Object.assign(new Error('x', { cause: new TypeError('Failed to fetch') }), {
      name: 'APIConnectionError',
    });
    expect(streamClassifier(wrapped).verdict).toBe('retry');
  });

  test('whoever expects such an error says so [S0.2]', () => {
    const classify = createClassifier({ unknown: 'fail', codes: { SyntaxError: 'retry' } });
    expect(classify(new SyntaxError('half an answer')).verdict).toBe('retry');
  });

  test('an error that throws at every touch is still judged', () => {
    const hostile = new Proxy(new TypeError('x'), {
      getOwnPropertyDescriptor() {
        throw new Error('no');
      },
    });
    expect(streamClassifier(hostile)).toEqual({ verdict: 'retry', kind: 'unknown' });
  });
});
