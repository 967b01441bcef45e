import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { linkAbort } from './abort-link.ts';

describe('linkAbort', () => {
  test('puts one listener on a signal, however many are linked, and takes it off with the last [F.12]', () => {
    const { signal } = new AbortController();
    const unlinks = Array.from({ length: 1_000 }, () => linkAbort(signal, () => undefined));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    for (const unlink of unlinks) unlink();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('calls everyone linked, once, and nobody unlinked', () => {
    const caller = new AbortController();
    const called: string[] = [];
    linkAbort(caller.signal, () => called.push('a'));
    const unlink = linkAbort(caller.signal, () => called.push('b'));
    linkAbort(caller.signal, () => called.push('c'));
    unlink();
    unlink();
    caller.abort();
    expect(called).toEqual(['a', 'c']);
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
  });

  test('one who is unlinked while the others are called is not called any more', () => {
    const caller = new AbortController();
    const called: string[] = [];
    linkAbort(caller.signal, () => {
      called.push('a');
      unlinkB();
    });
    const unlinkB = linkAbort(caller.signal, () => called.push('b'));
    caller.abort();
    expect(called).toEqual(['a']);
  });

  test('nothing is linked to a signal that is aborted already', () => {
    const signal = AbortSignal.abort();
    let called = false;
    linkAbort(signal, () => (called = true))();
    expect(called).toBe(false);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('the same function may be linked twice', () => {
    const caller = new AbortController();
    let calls = 0;
    const count = (): void => void calls++;
    linkAbort(caller.signal, count);
    linkAbort(caller.signal, count);
    caller.abort();
    expect(calls).toBe(2);
  });
});
