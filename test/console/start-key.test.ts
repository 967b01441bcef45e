import { expect, onTestFinished } from 'vitest';
import { OperatorDatabase } from '../operator/operator-database.ts';
import { serveHere } from '../server/serving.ts';
import { launchChromium } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';
import { openPage } from './open-console.ts';

const test = needs('postgres', 'chromium');

const KEY = 'k'.repeat(43);

test('the printed address with the key of the start opens the console; the plain one asks who it is [X.9]', async ({
  postgres,
  chromium,
}) => {
  const { operator } = await OperatorDatabase.open(postgres);
  const consoleFiles = new URL('../../dist/console/', import.meta.url);
  const { url } = await serveHere({ operator, consoleFiles, localOnly: { key: KEY }, localActor: 'ann' });
  const browser = await launchChromium(chromium.url);
  onTestFinished(() => browser.close());
  const page = await openPage(browser.context, `${url}/`, { expects: /401/ });
  await page.getByText('open the URL it printed').waitFor();
  await page.goto(`${url}/?key=${KEY}`);
  await page.getByRole('link', { name: 'Dead letters' }).first().waitFor();
  expect(page.url()).toBe(`${url}/`);
});
