import 'reflect-metadata';
import { mkdtempSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { describe, expect, onTestFinished, test } from 'vitest';
import { operatorServer } from '../../src/server/index.ts';
import { as, change, listenHere, scriptedOperator, serveHere, TOKENS } from './serving.ts';

const OVERVIEW = {
  at: new Date(0),
  verdict: 'All good',
  points: [],
  attention: [],
  handlers: [],
  breakers: [],
  audit: [],
};

/** A console of three files. */
function consoleFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><base href="./" /><script src="./assets/a.js"></script>');
  writeFileSync(join(folder, 'assets', 'a.js'), 'a');
  writeFileSync(join(folder, 'secret.pem'), 'secret');
  return folder;
}

async function expectMounted(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/handlers/pause`, change({ handler: 'é"\\' }, as('operator')));
  expect(await answer.json()).toEqual({ kind: 'asked' });
  expect((await fetch(`${url}/api/stats`)).status).toBe(401);
  for (const path of ['', '/', '/messages/1?tab=failed']) {
    const page = await fetch(url + path);
    expect(await page.text(), path).toContain('<base href="/ops/"');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  }
  const script = await fetch(`${url}/assets/a.js`);
  expect([await script.text(), script.headers.get('cache-control')]).toEqual([
    'a',
    'public, max-age=31536000, immutable',
  ]);
  expect((await fetch(`${url}/secret.pem`)).status).toBe(404);
  expect((await fetch(`${url}/assets/b.js`)).status).toBe(404);
}

describe('mounted below a path', () => {
  test('the server works in Express, also behind a parser, and in Fastify and Hono [X.9]', async () => {
    const options = { operator: scriptedOperator().operator, tokens: TOKENS, consoleFiles: consoleFolder() };
    const auto = operatorServer(options);
    const fixed = operatorServer({ ...options, basePath: '/ops' });
    onTestFinished(async () => void (await Promise.all([auto.close(), fixed.close()])));

    await expectMounted(`${await listenHere(express().use('/ops', auto.listener))}/ops`);
    await expectMounted(`${await listenHere(express().use(express.json()).use('/ops', auto.listener))}/ops`);

    const app = fastify();
    onTestFinished(() => app.close());
    const onRequest = async (asked: { raw: never }, reply: { hijack(): void; raw: never }): Promise<void> => {
      reply.hijack();
      fixed.listener(asked.raw, reply.raw);
    };
    for (const path of ['/ops', '/ops/*']) app.all(path, { onRequest: onRequest as never }, async () => undefined);
    await expectMounted(`${await app.listen({ port: 0, host: '127.0.0.1' })}/ops`);

    const hono = new Hono().all('/ops/*', (c) => fixed.fetch(c.req.raw)).all('/ops', (c) => fixed.fetch(c.req.raw));
    const running = serve({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' });
    onTestFinished(() => void running.close());
    await expect.poll(() => running.address()).not.toBeNull();
    await expectMounted(`http://127.0.0.1:${(running.address() as { port: number }).port}/ops`);
  });

  test('the server works in Koa, and in Nest on Express and on Fastify [X.9]', async () => {
    const options = { operator: scriptedOperator().operator, tokens: TOKENS, consoleFiles: consoleFolder() };
    const ops = operatorServer({ ...options, basePath: '/ops' });
    onTestFinished(() => ops.close());

    const koa = new Koa().use((ctx, next) =>
      ctx.path.startsWith('/ops') ? ((ctx.respond = false), ops.listener(ctx.req, ctx.res)) : next(),
    );
    const answer = koa.callback();
    await expectMounted(`${await listenHere((request, response) => void answer(request, response))}/ops`);

    class App {
      readonly name = 'app';
    }
    Module({})(App);
    const onExpress = await NestFactory.create(App, new ExpressAdapter(), { logger: false });
    const auto = operatorServer(options);
    onExpress.use('/ops', auto.listener);
    const onFastify = await NestFactory.create(App, new FastifyAdapter(), { logger: false });
    const inside = onFastify.getHttpAdapter().getInstance();
    for (const path of ['/ops', '/ops/*']) {
      const onRequest = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> => {
        reply.hijack();
        ops.listener(raw, reply.raw);
      };
      inside.all(path, { onRequest }, async () => undefined);
    }
    for (const app of [onExpress, onFastify]) {
      onTestFinished(() => app.close());
      await app.listen(0, '127.0.0.1');
      await expectMounted(`${await app.getUrl()}/ops`);
    }
    await auto.close();
  });
});

/** The first events of a live connection, until one fits. */
async function untilEvent(response: Response, fits: (text: string) => boolean): Promise<string> {
  let seen = '';
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    seen += new TextDecoder().decode(part.value);
    if (fits(seen)) break;
  }
  await reader?.cancel();
  return seen;
}

describe('live events', () => {
  test('tell all who watch what changed with one reader, are bounded, and end with the server [X.9]', async () => {
    let audit: { id: number }[] = [];
    let isDown = false;
    const { operator, asked } = scriptedOperator({
      overview: () => {
        if (isDown) throw new Error('away');
        return { ...OVERVIEW, audit };
      },
    });
    const { url, server } = await serveHere({ operator, tokens: TOKENS, pollMs: 50, maxStreams: 5 });
    const open = (): Promise<Response> =>
      fetch(`${url}/api/events`, { headers: { ...as('viewer'), 'last-event-id': '999' } });
    const watching = await Promise.all([open(), open(), open(), open(), open()]);
    expect((await open()).status).toBe(503);
    expect(asked.length).toBeLessThanOrEqual(2);
    audit = [{ id: 1 }];
    const [first, second, third, fourth, fifth] = watching;
    const seen = first && (await untilEvent(first, (text) => text.includes('"changed":["audit"]')));
    expect(seen).toMatch(/^retry: 2000\n: welcome\n\nid: 1\nevent: change\ndata: \{"id":1,"changed":\["work"/);
    isDown = true;
    expect(second && (await untilEvent(second, (text) => text.includes('"down"')))).toContain('does not answer');
    await expect
      .poll(async () => {
        const again = await open();
        await again.body?.cancel();
        return again.status;
      })
      .toBe(200);
    const ended = Promise.all([third, fourth, fifth].map((one) => one && untilEvent(one, () => false)));
    await server.close();
    await server.close();
    expect(await ended).toHaveLength(3);
    expect((await fetch(`${url}/healthz`)).status).toBe(503);
    const before = asked.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked.length).toBe(before);
  });

  test('who has all live connections makes room for others, as long as they have fewer [X.9]', async () => {
    const { operator } = scriptedOperator({ overview: () => OVERVIEW });
    const { url } = await serveHere({ operator, tokens: TOKENS, pollMs: 60_000, maxStreams: 3 });
    const open = (role: 'viewer' | 'operator'): Promise<Response> => fetch(`${url}/api/events`, { headers: as(role) });
    const [first] = [await open('viewer'), await open('viewer'), await open('viewer')];
    expect((await open('viewer')).status).toBe(503);
    expect((await open('operator')).status).toBe(200);
    // The oldest of the one who had all was ended.
    expect(await untilEvent(first, () => false)).toContain('welcome');
    expect([(await open('operator')).status, (await open('viewer')).status]).toEqual([503, 503]);
  });

  test('a reader that takes nothing is let go, and others are not kept waiting [X.9]', async () => {
    let n = 0;
    const { operator } = scriptedOperator({
      overview: () => ({ ...OVERVIEW, verdict: 'v'.repeat(200_000), audit: [{ id: (n += 1) }] }),
    });
    const { url } = await serveHere({ operator, tokens: TOKENS, pollMs: 1, maxStreams: 1 });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.pause();
    socket.write(`GET /api/events HTTP/1.1\r\nhost: a\r\nauthorization: ${as('viewer').authorization}\r\n\r\n`);
    // The place of the one that reads nothing becomes free although it has not closed anything.
    const again = async (): Promise<number> => {
      const response = await fetch(`${url}/api/events`, { headers: as('viewer') });
      await response.body?.cancel();
      return response.status;
    };
    await expect.poll(() => n).toBeGreaterThan(0);
    await expect.poll(again).toBe(200);
  });
});

describe('probes', () => {
  test('say whether the process lives and can work, with reasons and without secrets [X.9]', async () => {
    const problems: Error[] = [];
    const { operator } = scriptedOperator({
      handlers: () => {
        for (const problem of problems) throw problem;
        return [];
      },
      overview: OVERVIEW,
    });
    const metrics = [{ text: () => '# HELP outbox_pending x\n# TYPE outbox_pending gauge\noutbox_pending 7\n' }];
    const good = await serveHere({ operator, tokens: TOKENS, metrics });
    expect(await (await fetch(`${good.url}/healthz`)).json()).toEqual({ status: 'alive' });
    expect(await (await fetch(`${good.url}/readyz`)).json()).toEqual({ status: 'ready' });
    expect((await fetch(`${good.url}/metrics`)).status).toBe(401);
    const text = await (await fetch(`${good.url}/metrics`, { headers: as('viewer') })).text();
    expect(text.match(/^outbox_pending .*$/gm)).toEqual(['outbox_pending 7']);
    expect(text.match(/^# TYPE outbox_pending/gm)).toHaveLength(1);
    expect(text).toContain('\nholdfast_outbox_failed 0\n');
    problems.push(new Error('password hunter2 refused'));
    const bad = await serveHere({ operator, tokens: TOKENS, isReady: () => ['the cache is cold'] });
    const refused = await fetch(`${bad.url}/readyz`);
    expect(refused.status).toBe(503);
    const reasons = ['the database cannot be asked', 'the cache is cold'];
    expect(await refused.json()).toEqual({ status: 'not-ready', reasons });
  });
});
