import { describe, expect, test } from 'vitest';
import { errorFingerprint } from './error-fingerprint.ts';
import type { DeliveryError } from './relay-store.ts';

function thrown(stack: readonly string[], more: Partial<DeliveryError> = {}): DeliveryError {
  return { name: 'TypeError', message: 'x', kind: 'unknown', stack: stack.join('\n'), ...more };
}

describe('the fingerprint of an error', () => {
  test('is the same on another machine, after other lines were added, and whatever the message says [X.5]', () => {
    const here = thrown([
      '    at charge (file:///home/ann/shop/dist/charge.js:10:5)',
      '    at async Object.run [as handle] (/home/ann/shop/dist/run.js:2:1)',
      '    at process.processTicksAndRejections (node:internal/process/task_queues:103:5)',
      '    at /home/ann/shop/node_modules/holdfast/dist/relay.js:1:1',
    ]);
    const there = thrown(
      [
        '    at async charge (C:\\srv\\app\\charge.js:990:15)',
        '    at async Object.run [as other] (/srv/app/run.js:20:11)',
        '    at /srv/app/node_modules/pg/lib/client.js:7:7',
      ],
      { message: 'customer Bob has no card' },
    );
    expect(errorFingerprint(here)).toEqual(errorFingerprint(there));
    expect(errorFingerprint(here).frames).toEqual(['charge (charge.js)', 'Object.run (run.js)']);
  });

  test('is another one for another class, code or place [X.5]', () => {
    const stack = ['    at charge (/a/charge.js:1:1)'];
    const texts = [
      thrown(stack),
      thrown(stack, { name: 'RangeError' }),
      thrown(stack, { code: 'E1' }),
      thrown(stack, { code: 'E_CARD' }),
      thrown(['    at refund (/a/charge.js:1:1)']),
      thrown(['    at charge (/a/refund.js:1:1)']),
    ].map((error) => errorFingerprint(error).text);
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('is made of what is said where no place of the application is known, and for what the engine itself says [X.5]', () => {
    const one = errorFingerprint({ name: 'Error', message: 'order 17 is gone', kind: 'unknown' });
    const two = errorFingerprint({ name: 'Error', message: 'order 8 is gone', kind: 'unknown' });
    expect(one).toEqual(two);
    expect(one.frames).toEqual([]);
    expect(errorFingerprint({ name: 'Error', message: 'another', kind: 'unknown' })).not.toEqual(one);
    const killed = (stack: string): DeliveryError => thrown([stack], { code: 'PROCESS_KILLED' });
    expect(errorFingerprint(killed('    at a (/a.js:1:1)'))).toEqual(errorFingerprint(killed('    at b (/b.js:1:1)')));
  });

  test('is another one for another number in a code: a 404 is no 410, a unique violation no foreign key [X.5]', () => {
    const codes = ['HTTP_404', 'HTTP_410', '23505', '23503', '40P01'];
    const stack = ['    at post (/a/post.js:1:1)'];
    const texts = codes.map((code) => errorFingerprint(thrown(stack, { code })));
    expect(new Set(texts.map(({ text }) => text)).size).toBe(codes.length);
  });

  test('is not split by ids in a class name, a code or a file name [X.5]', () => {
    const of = (id: string): string =>
      errorFingerprint(thrown([`    at f (/app/chunk-${id}.js:1:1)`], { name: `Gone_${id}`, code: `E_${id}` })).text;
    expect(of('abc123def456')).toBe(of('zzz999yyy888'));
  });

  test('reads the stacks of other engines, and nonsense too [X.5]', () => {
    expect(errorFingerprint(thrown(['charge@https://x.example/app/charge.js?v=2:10:5'])).frames).toEqual([
      'charge (charge.js)',
    ]);
    for (const stack of ['', 'at ', '    at (', '@', '    at eval (eval at x (', ':::', '    at x (<anonymous>)']) {
      expect(typeof errorFingerprint(thrown([stack])).text).toBe('string');
    }
  });

  test('stays short however long and strange the error is [X.5]', () => {
    for (const part of ['(', ' (', '@', ':1', '"', 'at ', '\\', '\ud800', '<anonymous> [as ', '\u0000', '1.1.']) {
      const long = part.repeat(100_000);
      const error = {
        name: long,
        code: long,
        message: long,
        kind: 'unknown',
        stack: `    at ${long}\n${long}@${long}`,
      };
      const { text, frames } = errorFingerprint(error);
      expect(text.length).toBeLessThan(8_000);
      expect(frames.every((frame) => frame.length <= 120)).toBe(true);
    }
  });
});
