import { describe, expect, test } from 'vitest';
import type { SchemaIssue, StandardSchema } from '../kernel/standard-schema.ts';
import { parseAnswer, type Parsed } from './parse-answer.ts';

function parse(
  body: string | number[],
  contentType: string | null = 'application/json',
  schema?: StandardSchema,
): Promise<Parsed<unknown>> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
  return parseAnswer({ bytes, contentType }, 'json', schema);
}

const refusing = (...issues: SchemaIssue[]): StandardSchema => ({
  '~standard': { version: 1, vendor: 'test', validate: async () => ({ issues }) },
});

describe('reading a body', () => {
  test('JSON is read under its names or none, with or without a byte order mark [S0.5]', async () => {
    for (const type of [
      null,
      '',
      'application/json',
      'application/json; charset=utf-8',
      'application/vnd.api+json',
      'text/json',
    ]) {
      expect(await parse('{"a":1}', type)).toEqual({ value: { a: 1 } });
    }
    expect(await parse([0xef, 0xbb, 0xbf, 0x37])).toEqual({ value: 7 });
    expect(await parse('')).toEqual({ value: undefined });
  });

  test('what is not JSON is described without a word of it [S0.5]', async () => {
    expect(await parse('secret')).toEqual({ reason: 'not-json', problem: 'its 6 bytes are not JSON' });
    expect(await parse([0xc3, 0x28])).toEqual({ reason: 'not-text', problem: 'its 2 bytes are not UTF-8 text' });
    expect(await parse('x', 'text/plain')).toMatchObject({ problem: 'its content-type is text/plain, not JSON' });
    expect(await parse('x', 'text/<secret value>')).toMatchObject({
      problem: 'its content-type is not readable, not JSON',
    });
  });

  test('what a schema refuses is named by place: at most three, keys shortened [S0.5]', async () => {
    const issue = (...path: (PropertyKey | { key: PropertyKey })[]): SchemaIssue => ({ message: 'got secret', path });
    const schema = refusing(
      issue('user', { key: 'email' }),
      issue('items', 0, 'id'),
      issue('user', 'email'),
      { message: 'secret' },
      issue('z'),
      issue('k'.repeat(50)),
    );
    const parsed = await parse('{}', null, schema);
    expect(parsed).toMatchObject({ problem: 'the schema refuses user.email, items.0.id, the whole and 2 more' });
    expect(await parse('{}', null, refusing(issue('k'.repeat(50))))).toMatchObject({
      problem: `the schema refuses ${'k'.repeat(40)}`,
    });
    expect(await parse('', null, refusing({ message: 'x' }))).toMatchObject({ problem: 'it is empty' });
  });
});
