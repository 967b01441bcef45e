import type { RetryNoticeEvent } from 'holdfast/retry-notice';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { startChat } from './chat.ts';
import { noticeOf, openChatPage, sharedBrowser } from './open-page.ts';

const test = needs('chromium');
const browser = sharedBrowser();
const MINUTE = 60_000;
const OVERLOADED: RetryNoticeEvent = {
  type: 'provider-retry',
  conversationId: 'c',
  turnId: 't',
  attempt: 0,
  delayMs: 5_000,
  message: 'Overloaded.',
  code: '429',
};

/** What the test reaches inside the page. */
interface Stage {
  notice: HTMLElementTagNameMap['holdfast-retry-notice'];
  cancelled: object[];
  timers: Set<unknown>;
  hiddenPage: boolean;
}

/** A page with one notice, on whose clock time passes only when told to and whose timers are counted. */
async function stage(program: string, event: RetryNoticeEvent | null = OVERLOADED): Promise<Page> {
  const chat = await startChat([10]);
  const page = await openChatPage(await browser(program), chat);
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + MINUTE);
  await page.evaluate((shown) => {
    const here = globalThis as unknown as Stage;
    here.timers = new Set();
    here.cancelled = [];
    here.hiddenPage = false;
    Object.defineProperty(document, 'hidden', { get: () => here.hiddenPage });
    const { setTimeout, clearTimeout } = globalThis;
    globalThis.setTimeout = ((wake: () => void, ms: number) => {
      const timer = setTimeout(() => {
        here.timers.delete(timer);
        wake();
      }, ms);
      here.timers.add(timer);
      return timer;
    }) as typeof globalThis.setTimeout;
    globalThis.clearTimeout = (timer) => {
      here.timers.delete(timer);
      clearTimeout(timer);
    };
    here.notice = document.createElement('holdfast-retry-notice');
    document.body.prepend(here.notice);
    document.addEventListener('holdfast-cancel', (cancel) => here.cancelled.push(cancel.detail));
    here.notice.event = shown;
  }, event);
  return page;
}

function onStage<T>(page: Page, act: (stage: Stage) => T): Promise<T> {
  return page.evaluate(`(${act.toString()})(globalThis)`);
}

const liveText = (page: Page): Promise<string> =>
  onStage(page, ({ notice }) => notice.shadowRoot?.querySelector('[role=status]')?.textContent ?? '');

describe('<holdfast-retry-notice>', () => {
  test('counts down every second from its deadline, then says that the retry is under way [S2.5]', async ({
    chromium,
  }) => {
    const page = await stage(chromium.url);
    const { countdown } = noticeOf(page);
    const seen: (string | null)[] = [await countdown.textContent()];
    for (let second = 0; second < 6; second++) {
      await page.clock.runFor(1_000);
      seen.push(await countdown.textContent());
    }
    expect(seen).toEqual([
      'Retrying in 5 s',
      'Retrying in 4 s',
      'Retrying in 3 s',
      'Retrying in 2 s',
      'Retrying in 1 s',
      'Retrying now',
      'Retrying now',
    ]);
    expect(await onStage(page, ({ notice }) => notice.state)).toBe('retrying');
    expect(await onStage(page, ({ timers }) => timers.size)).toBe(0);
  });

  test('tells when the next try is, if it is a minute away or more [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url, { ...OVERLOADED, delayMs: 30 * MINUTE, attempt: 7 });
    const text = await noticeOf(page).box.textContent();
    expect(text).toContain('Retrying in 30 min');
    expect(text).toContain('Retry 8');
    expect(text).toMatch(/Next try at \d/);
  });

  test('speaks at the start, at marks and at the end, and not every second [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url, { ...OVERLOADED, delayMs: 2 * MINUTE });
    const heard: string[] = [];
    for (let second = 0; second <= 121; second++) {
      await page.clock.runFor(1_000);
      const text = await liveText(page);
      if (text !== heard.at(-1)) heard.push(text);
    }
    expect(heard).toEqual([
      'Warning, HTTP 429: Overloaded. Retrying in 2 minutes.',
      'Retrying in 1 minute.',
      'Retrying in 10 seconds.',
      'Retrying now.',
    ]);
    const politeness = await onStage(page, ({ notice }) =>
      notice.shadowRoot?.querySelector('[role=status]')?.getAttribute('aria-live'),
    );
    expect(politeness).toBe('polite');
  });

  test('stands still while the page is hidden and is right at once when it is seen again [S2.5]', async ({
    chromium,
  }) => {
    const page = await stage(chromium.url, { ...OVERLOADED, delayMs: 30_000 });
    await onStage(page, (here) => {
      here.hiddenPage = true;
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await page.clock.runFor(500);
    expect(await onStage(page, ({ timers }) => timers.size)).toBe(0);
    await page.clock.runFor(9_500);
    expect(await noticeOf(page).countdown.textContent()).toBe('Retrying in 30 s');
    await onStage(page, (here) => {
      here.hiddenPage = false;
      document.dispatchEvent(new Event('visibilitychange'));
    });
    expect(await noticeOf(page).countdown.textContent()).toBe('Retrying in 20 s');
    await page.clock.runFor(1_000);
    expect(await noticeOf(page).countdown.textContent()).toBe('Retrying in 19 s');
  });

  test('leaves no timer behind when it is removed, and goes on rightly when it is put back [S2.5]', async ({
    chromium,
  }) => {
    const page = await stage(chromium.url, { ...OVERLOADED, delayMs: 30_000 });
    expect(await onStage(page, ({ timers }) => timers.size)).toBeGreaterThan(0);
    await onStage(page, ({ notice }) => notice.remove());
    expect(await onStage(page, ({ timers }) => timers.size)).toBe(0);
    await page.clock.runFor(3_000);
    await onStage(page, ({ notice }) => document.body.prepend(notice));
    expect(await noticeOf(page).countdown.textContent()).toBe('Retrying in 27 s');
  });

  test('dispatches holdfast-cancel with its event, once, and shows that it was cancelled [S2.5]', async ({
    chromium,
  }) => {
    const page = await stage(chromium.url);
    const { cancel, countdown } = noticeOf(page);
    await cancel.click();
    await onStage(page, ({ notice }) => notice.cancel());
    expect(await onStage(page, ({ cancelled }) => cancelled)).toEqual([OVERLOADED]);
    expect(await countdown.textContent()).toBe('Retry cancelled');
    expect(await cancel.count()).toBe(0);
    await page.clock.runFor(10_000);
    expect(await countdown.textContent()).toBe('Retry cancelled');
    expect(await liveText(page)).toBe('Retry cancelled.');
    expect(await onStage(page, ({ notice }) => notice.state)).toBe('cancelled');
  });

  test('goes on counting when the page refuses the cancel [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url);
    await onStage(page, ({ notice }) => notice.addEventListener('holdfast-cancel', (event) => event.preventDefault()));
    await noticeOf(page).cancel.click();
    await page.clock.runFor(1_000);
    expect(await noticeOf(page).countdown.textContent()).toBe('Retrying in 4 s');
  });

  test('is gone when its event is null, and comes back with the next [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url, null);
    expect(await noticeOf(page).box.isVisible()).toBe(false);
    await page.evaluate((event) => void ((globalThis as unknown as Stage).notice.event = event), OVERLOADED);
    expect(await noticeOf(page).box.isVisible()).toBe(true);
    await onStage(page, ({ notice }) => void (notice.event = null));
    expect(await noticeOf(page).box.isVisible()).toBe(false);
    expect(await onStage(page, ({ notice }) => notice.state)).toBe('idle');
  });

  test('does not start anew when the same event is set again, as frameworks do [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url);
    await page.clock.runFor(2_000);
    await onStage(page, ({ notice }) => void Object.assign(notice, { event: notice.event }));
    expect(await noticeOf(page).countdown.textContent()).toBe('Retrying in 3 s');
    await onStage(page, ({ notice }) => void (notice.event = notice.event && { ...notice.event, attempt: 1 }));
    expect(await noticeOf(page).countdown.textContent()).toBe('Retrying in 5 s');
  });

  test('takes its event from attributes too [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url, null);
    await page.evaluate(() => {
      const { notice } = globalThis as unknown as Stage;
      notice.setAttribute('message', 'Slow down.');
      notice.setAttribute('code', 'slow_down');
      notice.setAttribute('delay-ms', '65000');
    });
    const text = await noticeOf(page).box.textContent();
    expect(text).toContain('Retrying in 1 min 5 s');
    expect(text).toContain('slow_down');
    expect(text).toContain('Slow down.');
  });

  test('takes a delay that is no time at all without an error and without spinning [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url, null);
    const show = async (delay: string): Promise<unknown> => {
      await page.evaluate((ms) => {
        const { notice } = globalThis as unknown as Stage;
        notice.setAttribute('delay-ms', ms);
      }, delay);
      await page.clock.runFor(2_000);
      const timers = await onStage(page, (here) => here.timers.size);
      return [await noticeOf(page).countdown.textContent(), timers];
    };
    expect(await show('Infinity')).toEqual(['Retrying in 8760 h', 1]);
    expect(await show('1e18')).toEqual(['Retrying in 8760 h', 1]);
    expect(await show('-5')).toEqual(['Retrying now', 0]);
    expect(await show('soon')).toEqual(['Retrying now', 0]);
  });

  test('shortens a long message and opens it on demand [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url, { ...OVERLOADED, message: 'One line.\n'.repeat(12) });
    const more = noticeOf(page).box.getByRole('button', { name: 'Show more' });
    const height = async (): Promise<number> => (await noticeOf(page).message.boundingBox())?.height ?? 0;
    const short = await height();
    await more.click();
    expect(await height()).toBeGreaterThan(2 * short);
    await noticeOf(page).box.getByRole('button', { name: 'Show less' }).click();
    expect(await height()).toBe(short);
    await page.evaluate((event) => void ((globalThis as unknown as Stage).notice.event = event), OVERLOADED);
    await expect.poll(() => more.count()).toBe(0);
  });

  test('does not glide for people who want less motion [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url);
    const glide = (): Promise<string> =>
      onStage(page, ({ notice }) => {
        const bar = notice.shadowRoot?.querySelector('[part=bar]');
        return bar ? getComputedStyle(bar).transitionDuration : '';
      });
    expect(await glide()).toBe('1s');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await glide()).toBe('0s');
  });

  test('can be registered again, and under another name, without harm [S2.5]', async ({ chromium }) => {
    const page = await stage(chromium.url);
    // As text: the test runner would put its own import in the place of the page's.
    const isOne = await page.evaluate(`(async () => {
      const { defineRetryNotice, RetryNoticeElement } = await import('holdfast/retry-notice');
      defineRetryNotice();
      defineRetryNotice('my-notice');
      return document.createElement('my-notice') instanceof RetryNoticeElement;
    })()`);
    expect(isOne).toBe(true);
  });
});
