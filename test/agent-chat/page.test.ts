import type { Locator } from 'playwright-core';
import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { readHistory, startChat } from './chat.ts';
import { connect } from './raw-client.ts';
import { ask, noticeOf, openChatPage, sharedBrowser } from './open-page.ts';

const test = needs('chromium');
const browser = sharedBrowser();
const LONG_MS = 30_000;
const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script> \u001B[31mred\u001B[0m`;

describe.each(['ws', 'lines'] as const)('the chat page over %s', (transport) => {
  test('shows a yellow notice with the message, the code and a countdown that moves [S2.2] [S2.5]', async ({
    chromium,
  }) => {
    const chat = await startChat([LONG_MS]);
    const page = await openChatPage(await browser(chromium.url), chat, { transport });
    await ask(page, 'hello');
    const notice = noticeOf(page);
    await notice.box.waitFor();
    // The client's message begins with the code, which is shown beside it and not twice.
    expect(await notice.message.textContent()).toBe('The service is temporarily overloaded. Please retry.');
    expect(await notice.box.getByText('HTTP 429', { exact: true }).isVisible()).toBe(true);
    const hue = await hueOf(notice.box);
    expect(hue).toBeGreaterThan(40);
    expect(hue).toBeLessThan(60);

    const first = await notice.countdown.textContent();
    expect(first).toMatch(/^Retrying in \d+ s$/);
    await expect.poll(() => notice.countdown.textContent()).not.toBe(first);
    expect(await notice.countdown.textContent()).toMatch(/^Retrying in \d+ s$/);
  });

  test('cancels: the turn is sealed as aborted and the provider is not asked again [S2.4] [S2.5]', async ({
    chromium,
  }) => {
    const chat = await startChat([LONG_MS]);
    const page = await openChatPage(await browser(chromium.url), chat, { transport });
    await ask(page, 'hello');
    await noticeOf(page).cancel.click();
    await page.getByText('The provider is not asked again.').waitFor();
    await noticeOf(page).box.waitFor({ state: 'detached' });
    expect((await readHistory(chat)).map((entry) => entry.role)).toEqual(['user', 'aborted']);

    chat.provider.plan = { ...chat.provider.plan, failures: 0 };
    await ask(page, 'and now?');
    await page.getByText('You said “and now?”').waitFor();
    expect(chat.provider.requests.map((request) => request.answer)).toEqual(['429', 'streamed']);
  });

  test('keeps nothing of the notice: neither history nor the next request knows of it [S2.2]', async ({ chromium }) => {
    const chat = await startChat([10, 10]);
    const page = await openChatPage(await browser(chromium.url), chat, { transport });
    await ask(page, 'first');
    await page.getByText('You said “first”').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await ask(page, 'second');
    await page.getByText('You said “second”').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();

    const history = await readHistory(chat);
    expect(history.map((entry) => entry.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const sent = chat.provider.requests.map((request) => request.body);
    expect(sent.at(-1)?.messages).toHaveLength(3);
    expect(JSON.stringify([history, sent])).not.toMatch(/provider-retry|overloaded|\b429\b/);
    await page.reload();
    await page.getByText('You said “second”').waitFor();
    expect(await noticeOf(page).box.count()).toBe(0);
  });

  test('shows the error at the end of the budget, also after a reload [S2.3]', async ({ chromium }) => {
    const chat = await startChat([10], { failures: 99 });
    const page = await openChatPage(await browser(chromium.url), chat, { transport });
    await ask(page, 'hello');
    const error = page.getByRole('listitem').filter({ hasText: 'Gave up after 1 retry and 0 s of waiting' });
    await error.waitFor();
    expect(await error.textContent()).toContain('HTTP 429: The service is temporarily overloaded.');
    expect(await noticeOf(page).box.count()).toBe(0);
    await page.reload();
    await error.waitFor();
  });

  test('shows the wait again after a reload in the middle of it [S2.5]', async ({ chromium }) => {
    const chat = await startChat([LONG_MS]);
    const page = await openChatPage(await browser(chromium.url), chat, { transport });
    await ask(page, 'hello');
    const notice = noticeOf(page);
    await notice.box.waitFor();
    const before = await notice.countdown.textContent();
    await expect.poll(() => notice.countdown.textContent()).not.toBe(before);
    await page.reload();
    await notice.box.waitFor();
    expect(seconds(await notice.countdown.textContent())).toBeLessThan(seconds(before));
    expect(await page.getByRole('listitem').filter({ hasText: 'hello' }).count()).toBe(1);
    await notice.cancel.click();
    await page.getByText('The provider is not asked again.').waitFor();
  });
});

describe('the chat page', () => {
  test('says "Answer cut off" below an answer that broke off, and can ask again [S2.3]', async ({ chromium }) => {
    const chat = await startChat([LONG_MS], { failures: 1, fault: 'cut-mid-reply' });
    const page = await openChatPage(await browser(chromium.url), chat);
    await ask(page, 'hello');
    await page.getByText('Answer cut off').waitFor();
    await page.getByText('This reply will not come to its', { exact: false }).waitFor();
    expect(await page.getByText('No answer').count()).toBe(0);

    chat.provider.plan = { ...chat.provider.plan, failures: 0 };
    await page.getByLabel('Your message').fill('a draft');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('You said “hello”').waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(await page.getByLabel('Your message').inputValue()).toBe('a draft');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('text');
    expect((await readHistory(chat)).map((entry) => entry.role).slice(0, 4)).toEqual([
      'user',
      'assistant',
      'error',
      'user',
    ]);
  });

  test('does not say that it saved what it refused, and shows the words of each fault', async ({ chromium }) => {
    const chat = await startChat([10], { message: '' });
    const page = await openChatPage(await browser(chromium.url), chat);
    const failures = page.getByLabel('Requests of each turn that fail');
    const state = page.locator('#controls-state');
    const words = page.getByLabel('What it says then');
    await failures.fill('3');
    await failures.press('Tab');
    await expect.poll(() => state.textContent()).toBe('Saved');
    await failures.fill('1000');
    await failures.press('Tab');
    await expect.poll(() => state.textContent()).toMatch(/^Not saved: .*99/);
    expect(chat.provider.plan.failures).toBe(3);

    await failures.fill('1');
    await page.getByLabel('401 key refused').check();
    await expect.poll(() => words.getAttribute('placeholder')).toContain('API key is not valid');
    await page.getByLabel('Connection cut').check();
    await expect.poll(() => words.isDisabled()).toBe(true);
    await expect.poll(() => chat.provider.plan).toEqual({ failures: 1, fault: 'cut', message: '' });
  });

  test('lists the requests of its own conversation only', async ({ chromium }) => {
    const chat = await startChat([10]);
    const other = await connect('ws', chat, 'other');
    other.ask('hello');
    await other.next('turn-end');
    const page = await openChatPage(await browser(chromium.url), chat);
    await page.getByText('None yet.').waitFor();
    await ask(page, 'hello');
    await page.locator('#requests').getByText('streamed').waitFor();
    expect(await page.locator('#requests li').count()).toBe(2);
  });

  test('shows a hostile message as the text it is [S2.5]', async ({ chromium }) => {
    const chat = await startChat([LONG_MS], { message: HOSTILE });
    const page = await openChatPage(await browser(chromium.url), chat);
    await ask(page, 'hello');
    const notice = noticeOf(page);
    await notice.box.waitFor();
    expect(await notice.message.textContent()).toContain(HOSTILE);
    expect(await notice.box.locator('img, script').count()).toBe(0);
    await notice.cancel.click();

    chat.provider.plan = { ...chat.provider.plan, failures: 1, fault: 'unauthorized' };
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await ask(page, HOSTILE);
    const error = page.getByRole('listitem').filter({ hasText: 'No answer' });
    await error.waitFor();
    expect(await error.textContent()).toContain(HOSTILE);
    expect(await page.locator('#transcript img, #transcript script').count()).toBe(0);
    expect(await page.title()).toBe('Agent chat');
  });

  test('is worked by the keyboard alone: Enter asks, Tab and Enter or Escape cancel [S2.5]', async ({ chromium }) => {
    const chat = await startChat([LONG_MS]);
    const page = await openChatPage(await browser(chromium.url), chat);
    await ask(page, 'one');
    const { cancel, box } = noticeOf(page);
    await box.waitFor();
    await cancel.focus();
    await page.keyboard.press('Enter');
    await page.getByText('The provider is not asked again.').waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('text');
    await ask(page, 'two');
    await box.waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByText('The provider is not asked again.').count()).toBe(2);
    expect((await readHistory(chat)).map((entry) => entry.role)).toEqual(['user', 'aborted', 'user', 'aborted']);
  });

  test('tells how the provider is to fail, and what it was asked', async ({ chromium }) => {
    const chat = await startChat([10]);
    const page = await openChatPage(await browser(chromium.url), chat);
    await page.getByLabel('Requests of each turn that fail').fill('0');
    await page.getByLabel('Connection cut').check();
    await page.getByText('Saved', { exact: true }).waitFor();
    await expect.poll(() => chat.provider.plan).toMatchObject({ failures: 0, fault: 'cut' });
    await ask(page, 'hello');
    await page.locator('#requests').getByText('streamed').waitFor();
  });

  test('says when the connection is lost [S2.5]', async ({ chromium }) => {
    const chat = await startChat([10]);
    const context = await browser(chromium.url);
    const page = await context.newPage();
    await page.goto(chat.url);
    await page.getByText('Connected', { exact: true }).waitFor();
    await chat.close();
    await page.getByText('Connection lost, trying again').waitFor();
    await page.close();
  });
});

/** The hue of the background on the colour wheel: 60 is pure yellow, 30 orange. */
function hueOf(box: Locator): Promise<number> {
  return box.evaluate((element) => {
    const [red = 0, green = 0, blue = 0] = (getComputedStyle(element).backgroundColor.match(/[\d.]+/g) ?? []).map(
      Number,
    );
    return (60 * (green - blue)) / (red - blue);
  });
}

function seconds(text: string | null): number {
  return Number(/\d+/.exec(text ?? '')?.[0]);
}
