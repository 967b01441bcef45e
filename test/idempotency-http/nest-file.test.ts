import 'reflect-metadata';
import { Readable } from 'node:stream';
import { Controller, Module, Post, Req, StreamableFile, UseInterceptors } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { expect, onTestFinished, test } from 'vitest';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { idempotent } from '../../src/nestjs/index.ts';
import { call } from './call.ts';
import { LeavingClient } from './leaving-client.ts';
import { Pauses, type Step } from './pauses.ts';

const STEPS = ['claim', 'handler', 'reply', 'end'] as const satisfies readonly Step[];
const LARGE = 'x'.repeat(300_000);

type Asked = { readonly headers: Readonly<Record<string, string>> };
const personOf = ({ headers }: Asked): string => headers['x-person'] ?? '';

/** A controller that returns a file; `runs` has who asked for one. */
async function serve(adapter: ExpressAdapter | FastifyAdapter, pauses: Pauses, runs: string[]) {
  const idem = idempotency({ service: 'shop', store: pauses.store(memoryIdempotency()), storeTimeoutMs: 60_000 });
  const bytes = async function* (person: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from('first');
    await pauses.at('reply', person);
    yield Buffer.from(LARGE);
    yield Buffer.from('last');
  };
  class Files {
    async do(request: Asked): Promise<StreamableFile> {
      const person = personOf(request);
      runs.push(person);
      await pauses.at('handler', person);
      return new StreamableFile(Readable.from(bytes(person), { objectMode: false }), { type: 'text/plain' });
    }
  }
  class App {
    readonly name = 'app';
  }
  const method = Object.getOwnPropertyDescriptor(Files.prototype, 'do') as TypedPropertyDescriptor<unknown>;
  Post('do/x')(Files.prototype, 'do', method);
  UseInterceptors(idempotent(idem, { person: personOf }))(Files.prototype, 'do', method);
  Req()(Files.prototype, 'do', 0);
  Controller()(Files);
  Module({ controllers: [Files] })(App);
  const app = await NestFactory.create(App, adapter, { logger: false, forceCloseConnections: true });
  onTestFinished(() => app.close());
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), client: new LeavingClient(app.getHttpServer()) };
}

test.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const)(
  'Nest on %s: a file that is returned is made to its end, wherever its client leaves [X.15]',
  async (_name, adapter) => {
    const pauses = new Pauses('shop');
    const runs: string[] = [];
    const { url, client } = await serve(adapter(), pauses, runs);
    for (const step of STEPS) {
      const headers = { 'idempotency-key': step, 'x-person': step };
      const stop = pauses.hold(step, step);
      const sent = client.send(`${url}/do/x`, headers);
      await stop.reached;
      await sent.leave();
      stop.go();
      const again = async (): Promise<unknown> => {
        const { status, isReplay, text } = await call(url, 'x', { key: step, headers });
        return [step, status, isReplay, text];
      };
      await expect.poll(again).toEqual([step, 201, true, `first${LARGE}last`]);
    }
    expect(runs).toEqual(STEPS);
  },
);
