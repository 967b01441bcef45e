import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test as onNode } from 'vitest';
import { fetch as undiciFetch } from 'undici';
import * as root from '../../src/index.ts';
import * as streams from '../../src/stream/index.ts';
import { httpServer } from '../classify/local-servers.ts';
import { launchChromium } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';

type Library = Pick<typeof root, 'streamClassifier'> &
  Pick<typeof streams, 'openaiChat' | 'retryStream' | 'sse' | 'sseEvents'>;

const HERE: Library = { ...root, ...streams };
const DIST = new URL('../../dist/', import.meta.url);
const EVENTS = 'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const WHOLE = { attempts: 2, seen: ['provider-retry', 'provider-retry-end', 'chunk', 'chunk'] };
const LOST = { verdict: 'retry', kind: 'network' };

/**
 * An empty page, the package's modules under `/dist/`, and a provider: `/turn/1` hangs up without a response, every later turn is
 * whole, and `/cut` breaks off in the middle of its body.
 */
async function startProvider(): Promise<string> {
  return httpServer((request, response) => {
    const path = request.url ?? '/';
    if (path === '/turn/1') return void request.socket.destroy();
    if (path.startsWith('/turn/')) return void response.setHeader('content-type', 'text/event-stream').end(EVENTS);
    if (path === '/cut') {
      response.writeHead(200, { 'content-length': '100' });
      return void response.write('half', () => response.destroy());
    }
    const isModule = path.startsWith('/dist/') && path.endsWith('.js');
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html');
    if (!isModule) return void response.end('<!doctype html>');
    readFile(fileURLToPath(new URL(path.slice('/dist/'.length), DIST))).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
}

// What follows runs in the page too, as its text: it reaches nothing but its parameters.

/** One turn whose first request fails: what its reader sees. */
async function readTurn(library: Library, get: typeof fetch, url: string, bug: boolean): Promise<unknown> {
  const seen: unknown[] = [];
  let attempts = 0;
  const stream = library.retryStream({
    conversationId: 'c',
    turnId: 't',
    retry: { delayFor: (n: number) => (n < 3 ? 0 : undefined), sleep: async () => {} },
    adapter: library.sse({ payload: library.openaiChat }),
    open: async () => {
      attempts += 1;
      if (bug) (undefined as unknown as { body: () => void }).body();
      const { body } = await get(`${url}/turn/${attempts}`);
      return library.sseEvents(body as ReadableStream<Uint8Array<ArrayBuffer>>);
    },
  });
  try {
    for await (const item of stream) seen.push('type' in item ? item.type : 'chunk');
  } catch (error) {
    seen.push((error as Error).name);
  }
  return { attempts, seen };
}

/** What the classifier of streams makes of one request that fails. */
async function judge(library: Library, get: typeof fetch, url: string): Promise<unknown> {
  try {
    await (await get(url)).text();
    return 'it did not fail';
  } catch (error) {
    return library.streamClassifier(error);
  }
}

describe.each([
  ['Node', fetch],
  ['undici', undiciFetch as unknown as typeof fetch],
])('the fetch of %s', (_, get) => {
  onNode('fails before content and is retried; a bug in open is not [S2.2] [S2.3]', async () => {
    const url = await startProvider();
    expect(await readTurn(HERE, get, url, false)).toEqual(WHOLE);
    expect(await readTurn(HERE, get, url, true)).toEqual({ attempts: 1, seen: ['TypeError'] });
    expect(await judge(HERE, get, `${url}/turn/1`)).toMatchObject(LOST);
    expect(await judge(HERE, get, `${url}/cut`)).toMatchObject(LOST);
  });
});

describe('the fetch of Chromium', () => {
  const test = needs('chromium');

  test('fails before content and is retried; a bug in open is not [S2.2] [S2.3]', async ({ chromium }) => {
    const url = await startProvider();
    const browser = await launchChromium(chromium.url);
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(url);
    expect(await inPage(page, readTurn, url, false)).toEqual(WHOLE);
    expect(await inPage(page, readTurn, url, true)).toEqual({ attempts: 1, seen: ['TypeError'] });
    expect(await inPage(page, judge, `${url}/turn/1`)).toEqual(LOST);
    expect(await inPage(page, judge, `${url}/cut`)).toEqual(LOST);
    expect(await inPage(page, judge, 'http://holdfast-test.invalid/')).toEqual(LOST);
    expect(await inPage(page, judge, 'http://')).toEqual({ verdict: 'fail', kind: 'invalid', code: 'TypeError' });
  });
});

/** Runs it in the page with the built package and the page's own `fetch`. */
function inPage<A extends unknown[]>(
  page: Page,
  act: (library: Library, get: typeof fetch, ...more: A) => Promise<unknown>,
  ...more: A
): Promise<unknown> {
  // As text: the test runner would put its own import in the place of the page's.
  return page.evaluate(`(async () => {
    const library = { ...(await import('/dist/index.js')), ...(await import('/dist/stream/index.js')) };
    return (${act.toString()})(library, (url) => fetch(url), ...${JSON.stringify(more)});
  })()`);
}
