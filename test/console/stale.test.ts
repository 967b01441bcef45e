import { expect, onTestFinished } from 'vitest';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { launchChromium } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';
import { openPage } from './open-console.ts';
import { openShop } from './shop.ts';

needs('postgres', 'chromium')(
  'a page that was open when the database went away says so and since when, and is itself again afterwards [X.10]',
  async ({ postgres, chromium }) => {
    const there = new URL(postgres.url);
    const proxy = await TcpProxy.open({ host: there.hostname, port: Number(there.port) }, systemEffects);
    onTestFinished(() => proxy.close());
    there.port = String(proxy.port);
    const shop = await openShop({ url: there.href, schema: `${postgres.namespace}_stale` });
    onTestFinished(async () => {
      proxy.letPass();
      await shop.close();
    });
    const browser = await launchChromium(chromium.url);
    onTestFinished(() => browser.close());
    const address = await shop.serve({ localActor: 'ann' });
    const page = await openPage(browser.context, address, { expects: /status of 50\d|ERR_/ });
    await page.getByRole('heading', { name: 'Handlers' }).waitFor();
    const notice = page.getByRole('alert').filter({ hasText: 'what is shown is as of then' });
    expect(await notice.count()).toBe(0);
    proxy.shut();
    await notice.waitFor({ timeout: 120_000 });
    expect(await page.locator('.dot.stale').count()).toBe(1);
    proxy.letPass();
    await notice.waitFor({ state: 'detached', timeout: 120_000 });
  },
);
