import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type ChatRequest,
  type CreateResult,
  type HttpRequest,
  type HttpResult,
  llm,
  serviceClient,
} from '../../src/http/index.ts';

interface User {
  readonly id: string;
}

const client = serviceClient({ baseUrl: 'http://127.0.0.1' });
const model = llm({ baseUrl: 'http://127.0.0.1' });
const READ = { operation: 'read', path: '/' } as const;
const ASK = { model: 'm', messages: [] } as const;
const schema = z.object({ id: z.string() });

test('data has the type that a schema or the way of reading gives it [S0.5]', () => {
  const typed = () => client.request({ ...READ, schema });
  expectTypeOf(typed).returns.resolves.toEqualTypeOf<HttpResult<{ id: string }>>();
  const text = () => client.request({ ...READ, read: 'text' });
  expectTypeOf(text).returns.resolves.toEqualTypeOf<HttpResult<string>>();
  const upper = () => client.request({ ...READ, read: 'text', schema: z.string().transform((one) => one.length) });
  expectTypeOf(upper).returns.resolves.toEqualTypeOf<HttpResult<number>>();
  const nothing = () => client.request({ ...READ, read: 'nothing', schema });
  expectTypeOf(nothing).returns.resolves.toEqualTypeOf<HttpResult<undefined>>();
  const found = () => client.find({ ...READ, schema });
  expectTypeOf(found).returns.resolves.toEqualTypeOf<HttpResult<{ id: string }> | undefined>();
  const foundText = () => client.find({ ...READ, read: 'text' });
  expectTypeOf(foundText).returns.resolves.toEqualTypeOf<HttpResult<string> | undefined>();
  const foundNothing = () => client.find({ ...READ, read: 'nothing', schema });
  expectTypeOf(foundNothing).returns.resolves.toEqualTypeOf<HttpResult<undefined> | undefined>();
  const made = () => client.createIfAbsent({ ...READ, schema });
  expectTypeOf(made).returns.resolves.toEqualTypeOf<CreateResult<{ id: string }>>();
  const madeNothing = () => client.createIfAbsent({ ...READ, read: 'nothing', schema });
  expectTypeOf(madeNothing).returns.resolves.toEqualTypeOf<CreateResult<undefined>>();
});

test('data that nothing has checked is unknown [S0.5]', () => {
  const plain = () => client.request(READ);
  expectTypeOf(plain).returns.resolves.toEqualTypeOf<HttpResult<unknown>>();
  const maybeChecked = (request: HttpRequest<User>) => client.request(request);
  expectTypeOf(maybeChecked).returns.resolves.toEqualTypeOf<HttpResult<unknown>>();
  const found = () => client.find(READ);
  expectTypeOf(found).returns.resolves.toEqualTypeOf<HttpResult<unknown> | undefined>();
  const made = () => client.createIfAbsent(READ);
  expectTypeOf(made).returns.resolves.toEqualTypeOf<CreateResult<unknown>>();
  const maybeReply = (request: ChatRequest<User>) => model.chat(request);
  expectTypeOf(maybeReply).returns.resolves.toHaveProperty('reply').toEqualTypeOf<unknown>();
});

test('a type cannot be claimed without a check [S0.5]', () => {
  const claims = {
    // @ts-expect-error: no schema, so nothing has checked that it is a User
    request: () => client.request<User>(READ),
    // @ts-expect-error: no schema
    find: () => client.find<User>(READ),
    // @ts-expect-error: no schema
    createIfAbsent: () => client.createIfAbsent<User>(READ),
    // @ts-expect-error: no schema
    chat: () => model.chat<User>(ASK),
    inferred: async () => {
      // @ts-expect-error: the type that is wanted is no check either
      const user: HttpResult<User> = await client.request(READ);
      return user;
    },
    foundByType: async () => {
      // @ts-expect-error: the type that is wanted is no check either
      const user: HttpResult<User> | undefined = await client.find(READ);
      return user;
    },
    unread: async () => {
      // @ts-expect-error: what is not read is not checked
      const user: User = (await client.request({ ...READ, read: 'nothing', schema })).data;
      return user;
    },
  };
  expectTypeOf(claims).toHaveProperty('request');
});

test('a reply is a text or what the schema makes of it; with tools there may be none [S0.6]', () => {
  const text = () => model.chat({ ...ASK, fields: { temperature: 0 } });
  expectTypeOf(text).returns.resolves.toHaveProperty('reply').toEqualTypeOf<string>();
  const typed = () => model.chat({ ...ASK, schema });
  expectTypeOf(typed).returns.resolves.toHaveProperty('reply').toEqualTypeOf<{ id: string }>();
  const withTools = () => model.chat({ ...ASK, fields: { tools: [] }, schema });
  expectTypeOf(withTools).returns.resolves.toHaveProperty('reply').toEqualTypeOf<{ id: string } | undefined>();
  const perhapsTools = (fields: Readonly<Record<string, unknown>>) => model.chat({ ...ASK, fields });
  expectTypeOf(perhapsTools).returns.resolves.toHaveProperty('reply').toEqualTypeOf<string | undefined>();
});
