import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';

describe('the browser that was found', () => {
  const test = needs('chromium');

  test('loads a page of a local server and runs its script', async ({ chromium }) => {
    const html = '<button onclick="this.textContent = 1 + 1">add</button>';
    const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const browser = await launchChromium(chromium.url);
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.getByRole('button').click();
    expect(await page.getByRole('button').textContent()).toBe('2');
  });
});
