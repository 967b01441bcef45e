import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { displayWidth, fitColumns, terminalSafe } from './terminal-text.ts';

describe('text for a terminal', () => {
  test.each([
    ['colours', '\u001B[31mred\u001B[0m', 'red'],
    ['the 8-bit form of colours', '\u009B31mred\u009B0m', 'red'],
    ['a window title', '\u001B]0;owned\u0007after', 'after'],
    ['a link', '\u001B]8;;https://evil.example\u001B\\click\u001B]8;;\u001B\\', 'click'],
    ['cursor moves and erasing', 'a\u001B[2J\u001B[1;1Hb', 'ab'],
    ['a terminal reset', '\u001Bcx', 'x'],
    ['a device control string', '\u001BP1$r0m\u001B\\x', 'x'],
    ['a sequence that never ends', '\u001B]0;still here', '0;still here'],
    ['carriage returns and newlines', 'one\r\ntwo\tthree', 'one two three'],
    ['backspaces and bells', 'pass\b\b\b\bfail\u0007', 'passfail'],
    ['marks that turn text around', 'abc\u202Efed\u2066x', 'abcfedx'],
  ])('%s leave no trace but the words [S2.5]', (_, text, safe) => {
    expect(terminalSafe(text)).toBe(safe);
  });

  test('whatever comes in, no control character goes out [S2.5]', () => {
    const nasty = fc.constantFrom(
      '\u001B',
      '\u009B',
      '\u009D',
      '[',
      ']',
      'm',
      '0',
      ';',
      '\u0007',
      '\\',
      '\n',
      'é',
      '漢',
      '👩‍👩‍👧',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(nasty, fc.string({ unit: 'binary' }))), (parts) => {
        const text = terminalSafe(parts.join(''));
        expect(text.match(/\p{Control}/gu)).toBeNull();
      }),
    );
  });

  test('wide characters take two columns and combining marks none [S2.5]', () => {
    expect(displayWidth('abc')).toBe(3);
    expect(displayWidth('漢字')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('👩‍👩‍👧')).toBe(2);
    expect(displayWidth('한')).toBe(2);
  });

  test('a text is cut to the columns there are, and says so [S2.5]', () => {
    expect(fitColumns('overloaded', 10)).toBe('overloaded');
    expect(fitColumns('overloaded', 9)).toBe('overload…');
    expect(fitColumns('漢字漢字', 7)).toBe('漢字漢…');
    expect(fitColumns('漢字漢字', 6)).toBe('漢字…');
    expect(fitColumns('anything', 0)).toBe('');
  });

  test('a cut text never takes more columns than it was given [S2.5]', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 40 }), (text, columns) => {
        expect(displayWidth(fitColumns(text, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});
