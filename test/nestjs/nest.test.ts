import 'reflect-metadata';
import {
  Controller,
  type DynamicModule,
  Get,
  HttpException,
  Inject,
  Module,
  type NestInterceptor,
  Post,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { tap } from 'rxjs';
import { expect, onTestFinished, test } from 'vitest';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { event, holdfast, type Holdfast } from '../../src/index.ts';
import { HOLDFAST, holdfastModule, idempotent } from '../../src/nestjs/index.ts';
import { memoryStore, type MemoryTransaction } from '../../src/testing/index.ts';

const PLATFORMS = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() };

/** Writes decorators as calls: Node runs this file as it is. */
function decorate(target: Type, name: string, ...decorators: readonly MethodDecorator[]): void {
  const method = Object.getOwnPropertyDescriptor(target.prototype, name) as PropertyDescriptor;
  for (const one of decorators) one(target.prototype as object, name, method);
}

async function open(platform: keyof typeof PLATFORMS, module: Type | DynamicModule): Promise<string> {
  const app = await NestFactory.create(module, PLATFORMS[platform]() as ExpressAdapter, {
    logger: false,
    forceCloseConnections: true,
    cors: { origin: 'https://shop.example' },
  });
  onTestFinished(() => app.close());
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

test.for(['Express', 'Fastify'] as const)(
  'Nest on %s: what a handler returns or throws is answered again, with the headers of CORS, and interceptors around it see an end [S1.1]',
  async (platform) => {
    const ended: string[] = [];
    let runs = 0;
    const around: NestInterceptor = {
      intercept: (context, next) => {
        const note = (how: string) => () => void ended.push(how);
        return next.handle().pipe(tap({ complete: note(context.getHandler().name), error: note('error') }));
      },
    };
    class Orders {
      create(): object {
        return { n: ++runs };
      }
      refuse(): never {
        runs++;
        throw new HttpException({ why: 'sold out' }, 410);
      }
      list(): string {
        return `${runs}`;
      }
    }
    class App {
      readonly name = 'app';
    }
    const guard = idempotent(idempotency({ service: 'shop', store: memoryIdempotency() }), { person: 'anyone' });
    // Twice: the second lets the first do it.
    decorate(Orders, 'create', Post('create'), UseInterceptors(around, guard, guard));
    decorate(Orders, 'refuse', Post('refuse'), UseInterceptors(around, guard));
    decorate(Orders, 'list', Get('list'), UseInterceptors(guard));
    Controller()(Orders);
    Module({ controllers: [Orders] })(App);
    const url = await open(platform, App);
    const ask = async (path: string, key: string): Promise<unknown[]> => {
      const headers = { 'idempotency-key': key, origin: 'https://shop.example', 'content-type': 'application/json' };
      const answer = await fetch(`${url}/${path}`, { method: 'POST', headers, body: '{"item":"pen"}' });
      const [cors, type] = ['access-control-allow-origin', 'content-type'].map((name) => answer.headers.get(name));
      return [answer.status, cors, type?.split(';')[0], await answer.text()];
    };
    const created = [201, 'https://shop.example', 'application/json', '{"n":1}'];
    expect([await ask('create', 'a'), await ask('create', 'a')]).toEqual([created, created]);
    const refused = [410, 'https://shop.example', 'application/json', '{"why":"sold out"}'];
    expect([await ask('refuse', 'b'), await ask('refuse', 'b')]).toEqual([refused, refused]);
    expect(await (await fetch(`${url}/list`)).text()).toBe('2');
    expect(ended).toEqual(['create', 'create', 'error', 'refuse']);
  },
);

test('the module of Nest starts handlers when all modules are there, and stops them before the application is closed [S1.1]', async () => {
  const store = memoryStore();
  const hf = holdfast({ service: 'shop', store });
  const placed = event<{ readonly id: string }>('order.placed');
  const seen: string[] = [];
  const send = async (id: string): Promise<void> => {
    const tx = store.begin();
    await hf.send(tx, placed, { id });
    tx.commit();
  };
  class Mail {
    readonly hf: Holdfast<MemoryTransaction>;
    constructor(service: Holdfast<MemoryTransaction>) {
      this.hf = service;
      service.on(placed, 'mail', ({ id }) => void seen.push(id));
    }
    onApplicationShutdown(): void {
      seen.push('closed');
    }
  }
  class App {
    readonly name = 'app';
  }
  Inject(HOLDFAST)(Mail, undefined, 0);
  const start: typeof hf.start = async (options) => {
    const running = await hf.start(options);
    const stop: typeof running.stop = async () => {
      const stopped = await running.stop();
      seen.push('stopped');
      return stopped;
    };
    return { ...running, stop };
  };
  const service = { ...hf, start };
  Module({ imports: [holdfastModule(service)], providers: [Mail] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  expect(app.get(Mail).hf).toBe(service);
  await send('a');
  await expect.poll(() => seen).toEqual(['a']);
  await app.close();
  // Stopped once, and before pools are closed; closing again finds nothing to stop.
  await app.close();
  expect(seen).toEqual(['a', 'stopped', 'closed', 'closed']);
});

test('a module without a service is refused with what to pass [S1.1]', () => {
  expect(() => holdfastModule({} as never)).toThrow('pass what holdfast({ service, store }) gave');
});
