import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MESSAGE_TABS } from './message-list.ts';
import { formatMessageQuery, parseMessageQuery, QUERY_QUALIFIERS } from './message-query.ts';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const ID = '0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11';

function parse(text: string): ReturnType<typeof parseMessageQuery> {
  return parseMessageQuery(text, NOW);
}

describe('a query for messages', () => {
  test('is read part by part, and all of them must fit [X.5]', () => {
    expect(
      parse('type:order.* status:failed key:ord_1 handler:email error:ECONN payload.customer.id:42 since:2h'),
    ).toEqual({
      filter: {
        type: 'order.*',
        status: 'failed',
        key: 'ord_1',
        handler: 'email',
        error: 'ECONN',
        payload: [{ path: ['customer', 'id'], value: 42 }],
        since: new Date('2026-11-16T10:00:00Z'),
      },
      id: undefined,
      problems: [],
    });
    expect(parse('  ')).toEqual({ filter: {}, id: undefined, problems: [] });
  });

  test('takes quotes where a value or a step has spaces, dots or colons', () => {
    expect(parse('key:"two \\"words\\"" error:"connection refused" service:a').filter).toEqual({
      key: 'two "words"',
      error: 'connection refused',
      service: 'a',
    });
    expect(parse('payload."a.b".c:"x y" key:urn:isbn:1').filter).toEqual({
      payload: [{ path: ['a.b', 'c'], value: 'x y' }],
      key: 'urn:isbn:1',
    });
    expect(parse('key:"never closed').filter).toEqual({ key: 'never closed' });
  });

  test.each([
    ['42', 42],
    ['-1.5', -1.5],
    ['"42"', '42'],
    ['007', '007'],
    ['12345678901234567890', '12345678901234567890'],
    ['true', true],
    ['"true"', 'true'],
    ['null', null],
    ['gold', 'gold'],
  ])('in a payload the word %s means what JSON would', (word, value) => {
    expect(parse(`payload.x:${word}`).filter.payload).toEqual([{ path: ['x'], value }]);
  });

  test('an id alone is that message, and the id of a dead letter too', () => {
    expect(parse(ID)).toEqual({ filter: {}, id: ID, problems: [] });
    expect(parse(`${ID}:3`).id).toBe(`${ID}:3`);
    expect(parse(`id:${ID}:3`).id).toBe(`${ID}:3`);
  });

  test('times are so long ago, or dates', () => {
    expect(parse('since:1h30m until:2026-11-16T11:59Z').filter).toEqual({
      since: new Date('2026-11-16T10:30:00Z'),
      until: new Date('2026-11-16T11:59:00Z'),
    });
    expect(parse('since:99999d').filter.since).toEqual(new Date(0));
  });

  test.each([
    ['typ:order', 'there is no typ:; did you mean type:?'],
    ['colour:red', 'there is no colour:; known are status:, type:'],
    ['status:lost', 'status: is pending, in_flight'],
    ['failed', 'did you mean status:failed?'],
    ['order.placed', 'did you mean type:order.placed?'],
    ['ord_1', 'did you mean key:ord_1?'],
    ['since:yesterday', 'since: is a time such as 15m'],
    ['since:5', 'since: is a time such as 15m'],
    ['key:', 'key: has no value; write for example key:ord_1'],
    ['key:a key:b', 'key: was given twice'],
    ['payload:x', 'payload: names no place in the payload'],
    ['payload..a:1', 'names no place in the payload'],
    ['type:*.placed', 'type: takes one * at its end'],
    ['id:12', "id: takes a message's id"],
  ])('%s is refused with what to write', (text, problem) => {
    const { problems } = parse(`service:shop ${text}`);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.problem).toContain(problem);
    expect(problems[0]?.at).toBeGreaterThan(12);
    expect(parse(`service:shop ${text}`).filter.service).toBe('shop');
  });

  test('every qualifier has an example that can be read', () => {
    for (const { example } of QUERY_QUALIFIERS) expect(parse(example).problems, example).toEqual([]);
  });

  test('whatever filter is written as a query is read back as the same', () => {
    const text = fc.string({ minLength: 1 }).filter((one) => one.trim() !== '');
    const optional = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined });
    const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)).filter((one) => one !== '');
    const filters = fc.record({
      status: optional(fc.constantFrom(...MESSAGE_TABS)),
      key: optional(text),
      handler: optional(text),
      error: optional(text),
      payload: optional(
        fc.uniqueArray(fc.record({ path: fc.array(text, { minLength: 1, maxLength: 3 }), value }), {
          minLength: 1,
          maxLength: 3,
          selector: ({ path }) => JSON.stringify(path),
        }),
      ),
      since: optional(fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })),
    });
    fc.assert(
      fc.property(filters, (filter) => {
        const given = Object.fromEntries(Object.entries(filter).filter(([, one]) => one !== undefined));
        expect(parse(formatMessageQuery(filter))).toEqual({ filter: given, id: undefined, problems: [] });
      }),
    );
  });

  test('no text whatever makes it throw', () => {
    fc.assert(fc.property(fc.string(), (text) => void parse(text)));
    fc.assert(fc.property(fc.stringMatching(/^[a-z":.\\ ]{0,40}$/), (text) => void parse(text)));
  });
});
