import { describe, expect, test } from 'vitest';
import { eventHandlerClassifier, serviceCallClassifier, streamClassifier } from '../classifier.ts';

const LOST = { verdict: 'retry', kind: 'network' };

describe('a failed fetch in a browser', () => {
  test.each([
    ['Chromium', 'Failed to fetch'],
    ['Chromium', 'Failed to fetch (api.example.com)'],
    ['Chromium', 'network error'],
    ['Firefox', 'NetworkError when attempting to fetch resource.'],
    ['Firefox', 'Error in body stream'],
    ['Firefox', 'Error in input stream'],
    ['Safari', 'Load failed'],
    ['Safari', 'Load failed (api.example.com)'],
    ['Safari', 'The network connection was lost.'],
    ['Safari', 'The Internet connection appears to be offline.'],
    ['Safari', 'Could not connect to the server.'],
    ['Safari', 'The request timed out.'],
  ])('in %s, “%s”, is a network error and is retried by every classifier [S0.2] [S2.2]', (_, message) => {
    for (const classify of [serviceCallClassifier, eventHandlerClassifier, streamClassifier]) {
      expect(classify(new TypeError(message))).toEqual(LOST);
      expect(classify(new Error('the call failed', { cause: new TypeError(message) }))).toEqual(LOST);
    }
  });

  test.each([
    ['Chromium', "Failed to execute 'fetch' on 'Window': Failed to parse URL from http://"],
    ['Chromium', "Failed to execute 'fetch' on 'Window': Request with GET/HEAD method cannot have body."],
    ['Firefox', 'Window.fetch: http:// is not a valid URL.'],
    ['any', 'x.loadFailed is not a function: Load failed'],
    ['any', "Cannot read properties of undefined (reading 'Failed to fetch')"],
  ])('a mistake in %s, “%s”, is not [S2.2]', (_, message) => {
    expect(streamClassifier(new TypeError(message))).toEqual({ verdict: 'fail', kind: 'invalid', code: 'TypeError' });
    expect(serviceCallClassifier(new TypeError(message)).verdict).toBe('fail');
  });

  test('needs the class too: the words alone say nothing [S0.2]', () => {
    expect(serviceCallClassifier(new Error('Failed to fetch'))).toEqual({ verdict: 'fail', kind: 'unknown' });
    expect(serviceCallClassifier(new RangeError('Load failed'))).toEqual({ verdict: 'fail', kind: 'unknown' });
  });

  test('where there is a cause or a code, that decides [S0.2]', () => {
    const expired = Object.assign(new Error('expired'), { code: 'CERT_HAS_EXPIRED' });
    expect(serviceCallClassifier(new TypeError('Failed to fetch', { cause: expired })).verdict).toBe('fail');
    expect(serviceCallClassifier(Object.assign(new TypeError('Failed to fetch'), { code: 'E_OURS' }))).toEqual({
      verdict: 'fail',
      kind: 'unknown',
      code: 'E_OURS',
    });
  });
});
