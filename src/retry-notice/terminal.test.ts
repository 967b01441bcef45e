import { describe, expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import { terminalRetryNotice, type TerminalRetryNoticeOptions } from './terminal.ts';
import { displayWidth } from './terminal-text.ts';

const OVERLOADED = {
  type: 'provider-retry',
  conversationId: 'c1',
  turnId: 't1',
  attempt: 0,
  delayMs: 5_000,
  message: 'The service is temporarily overloaded. Please retry.',
  code: '429',
} as const;

const ERASE = '\r\u001B[2K';

function onTerminal(options: Partial<TerminalRetryNoticeOptions> = {}) {
  const time = virtualTime();
  const written: string[] = [];
  const notice = terminalRetryNotice({
    write: (text) => written.push(text),
    isTTY: true,
    columns: 120,
    env: {},
    effects: time,
    ...options,
  });
  return { time, written, notice, last: () => written.at(-1) ?? '' };
}

/** What a person sees of a line: without the codes that erase and colour it. */
function seen(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/\r|\u001B\[[\d;]*[A-Za-z]/g, '');
}

describe('the notice on a terminal', () => {
  test('one yellow line counts down in place, with the code, the message and how to cancel [S2.5]', async () => {
    const { time, written, notice, last } = onTerminal();
    notice.show(OVERLOADED);
    expect(last().startsWith(`${ERASE}\u001B[33m`)).toBe(true);
    expect(seen(last())).toBe(
      '⚠ Retrying in 5 s · HTTP 429: The service is temporarily overloaded. Please retry. · press c or Ctrl-C to cancel',
    );
    await time.advance(1_000);
    await time.advance(1_000);
    expect(written.map(seen).map((line) => line.slice(0, 17))).toEqual([
      '⚠ Retrying in 5 s',
      '⚠ Retrying in 4 s',
      '⚠ Retrying in 3 s',
    ]);
    expect(written.join('')).not.toContain('\n');
  });

  test('at the end it says that the retry is under way, and its timer is gone [S2.5]', async () => {
    const { time, notice, last } = onTerminal();
    notice.show(OVERLOADED);
    await time.advance(5_000);
    expect(seen(last())).toContain('⚠ Retrying now');
    expect(time.pendingTimers).toBe(0);
  });

  test.each([
    [Number.POSITIVE_INFINITY, 'Retrying in 8760 h', 4],
    [Number.NaN, 'Retrying now', 1],
    [-5, 'Retrying now', 1],
  ])('a delay of %d is no reason to spin [S2.5]', async (delayMs, text, draws) => {
    const { time, written, notice } = onTerminal();
    notice.show({ ...OVERLOADED, delayMs });
    for (let i = 0; i < 3; i++) await time.advance(1_000);
    expect(seen(written[0] ?? '')).toContain(text);
    expect(written).toHaveLength(draws);
  });

  test('clearing erases the line and leaves no timer; clearing again writes nothing [S2.5]', () => {
    const { time, written, notice, last } = onTerminal();
    notice.show(OVERLOADED);
    notice.clear();
    expect(last()).toBe(ERASE);
    expect(time.pendingTimers).toBe(0);
    const count = written.length;
    notice.clear();
    expect(written).toHaveLength(count);
  });

  test('a second event takes the place of the first and one timer runs [S2.5]', async () => {
    const { time, notice, last } = onTerminal();
    notice.show(OVERLOADED);
    await time.advance(2_000);
    notice.show({ ...OVERLOADED, attempt: 1, delayMs: 10_000 });
    expect(seen(last())).toContain('Retrying in 10 s');
    expect(time.pendingTimers).toBe(1);
  });

  test('stopping twice is fine, and nothing is written after it [S2.5]', async () => {
    const { time, written, notice } = onTerminal();
    notice.show(OVERLOADED);
    notice.stop();
    notice.stop();
    expect(time.pendingTimers).toBe(0);
    const count = written.length;
    notice.show(OVERLOADED);
    await time.advance(60_000);
    expect(written).toHaveLength(count);
  });

  test('NO_COLOR keeps the countdown and drops the colour; an empty NO_COLOR does not count [S2.5]', () => {
    const plain = onTerminal({ env: { NO_COLOR: '1' } });
    plain.notice.show(OVERLOADED);
    expect(plain.last()).toBe(ERASE + seen(plain.last()));
    const empty = onTerminal({ env: { NO_COLOR: '' } });
    empty.notice.show(OVERLOADED);
    expect(empty.last()).toContain('\u001B[33m');
  });

  test.each([10, 20, 40, 60, 79, 80])(
    'a terminal of %i columns is never filled to its last column [S2.5]',
    (columns) => {
      const { notice, last } = onTerminal({ columns });
      notice.show({ ...OVERLOADED, message: '服务暂时过载，请稍后重试。'.repeat(8) });
      expect(displayWidth(seen(last()))).toBeLessThan(columns);
      expect(seen(last())).toContain('⚠ Retry');
    },
  );

  test('a narrow terminal keeps the message and drops the hint [S2.5]', () => {
    const { notice, last } = onTerminal({ columns: 50 });
    notice.show(OVERLOADED);
    expect(seen(last())).toBe('⚠ Retrying in 5 s · HTTP 429: The service is tem…');
  });

  test('a message cannot send codes to the terminal or start a new line [S2.5]', () => {
    const { notice, last } = onTerminal();
    notice.show({
      ...OVERLOADED,
      message: 'down\u001B[2J\u001B]0;owned\u0007\r\nfake prompt $ ',
      code: '\u001B[31m429',
    });
    expect(seen(last())).toContain('429: down fake prompt $');
    expect(last()).not.toContain('\u001B[2J');
    expect(last()).not.toContain('owned');
  });

  test('a message that begins with its code does not say it twice [S2.5]', () => {
    const { notice, last } = onTerminal();
    notice.show({ ...OVERLOADED, message: 'HTTP 429: overloaded' });
    expect(seen(last())).toContain(' · HTTP 429: overloaded · ');
  });

  test('the width is read again at each tick [S2.5]', async () => {
    let columns = 120;
    const time = virtualTime();
    const written: string[] = [];
    const notice = terminalRetryNotice({
      write: (text) => written.push(text),
      isTTY: true,
      get columns() {
        return columns;
      },
      env: {},
      effects: time,
    });
    notice.show(OVERLOADED);
    columns = 30;
    await time.advance(1_000);
    expect(displayWidth(seen(written.at(-1) ?? ''))).toBeLessThan(30);
  });
});

describe('the notice without a terminal', () => {
  test.each([
    ['a pipe', { isTTY: false }],
    ['TERM=dumb', { env: { TERM: 'dumb' } }],
  ])('%s gets one plain line for each event, no control code and no timer [S2.5]', async (_, options) => {
    const { time, written, notice } = onTerminal(options);
    notice.show(OVERLOADED);
    await time.advance(5_000);
    notice.clear();
    notice.show({ ...OVERLOADED, attempt: 1, delayMs: 65_000, message: 'two\nlines\u001B[31m' });
    notice.stop();
    expect(written).toEqual([
      'warning: HTTP 429: The service is temporarily overloaded. Please retry. · retry 1 in 5 s\n',
      'warning: HTTP 429: two lines · retry 2 in 1 min 5 s\n',
    ]);
    expect(time.pendingTimers).toBe(0);
  });

  test('a delay that is no time at all is written as one [S2.5]', () => {
    const { written, notice } = onTerminal({ isTTY: false });
    for (const delayMs of [Number.POSITIVE_INFINITY, Number.NaN, -5]) notice.show({ ...OVERLOADED, delayMs });
    expect(written.map((line) => line.replace(/.* in /, ''))).toEqual(['8760 h\n', '0 s\n', '0 s\n']);
  });
});
