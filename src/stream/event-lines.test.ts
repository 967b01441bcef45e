import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseEventLines, serializeEventLine } from './index.ts';

async function* pieces<Piece>(values: readonly Piece[]): AsyncGenerator<Piece> {
  yield* values;
}

async function parse(source: Parameters<typeof parseEventLines>[0], maxEventChars?: number): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of parseEventLines(source, maxEventChars === undefined ? {} : { maxEventChars }))
    values.push(value);
  return values;
}

describe('event lines', () => {
  test('come back equal wherever the transport cuts them [S2.2]', async () => {
    const tricky = fc.constantFrom('plain', 'grüße', '🙂', 'line\nfeed', 'return\r', '\u2028', '"', '\\', '\uFEFF', '');
    const anyObject = fc.record({ type: tricky, text: fc.array(tricky, { maxLength: 4 }) });
    const cuts = fc.array(fc.nat(), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.array(anyObject, { maxLength: 5 }), cuts, async (events, at) => {
        const bytes = new TextEncoder().encode(events.map(serializeEventLine).join(''));
        const sorted = at.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
        const parts = [0, ...sorted].map((from, i) => bytes.slice(from, sorted[i] ?? bytes.length));
        expect(await parse(pieces(parts))).toEqual(events.map((event) => JSON.parse(JSON.stringify(event)) as unknown));
      }),
    );
  });

  test('may be empty, end with CRLF, and lack the last line end [S2.2]', async () => {
    expect(await parse(pieces(['{"a":1}\r', '\n\n  \n{"b":', '2}']))).toEqual([{ a: 1 }, { b: 2 }]);
  });

  test('are read from a body that cannot be iterated, as in older browsers, and cancel it [S2.2]', async () => {
    let cancelled = false;
    const parts = [new TextEncoder().encode('{"a":1}\n{"b":2}\n')];
    const body = {
      getReader: () => ({
        read: async () => (parts.length > 0 ? { done: false, value: parts.shift() } : { done: true, value: undefined }),
        cancel: async () => void (cancelled = true),
      }),
    } as unknown as ReadableStream<Uint8Array>;
    for await (const value of parseEventLines(body)) {
      expect(value).toEqual({ a: 1 });
      break;
    }
    expect(cancelled).toBe(true);
  });

  test('name the line that is not JSON, and never its content [S2.2]', async () => {
    const reading = parse(pieces(['{"a":1}\n', '{"secret":']));
    await expect(reading).rejects.toMatchObject({ code: 'EVENT_LINE_INVALID', details: { line: 2 } });
    await expect(parse(pieces(['{"secret":']))).rejects.not.toThrow('secret');
  });

  test('are bounded: a line that never ends is refused while it is read [S2.2]', async () => {
    let given = 0;
    const endless = (async function* () {
      for (;;) {
        given += 10;
        yield 'x'.repeat(10);
      }
    })();
    await expect(parse(endless, 95)).rejects.toMatchObject({
      code: 'STREAM_EVENT_TOO_LARGE',
      details: { limitChars: 95 },
    });
    expect(given).toBe(100);
  });

  test('that stand before one that is too long are read, wherever the stream was cut [S2.2]', async () => {
    for (const cuts of [['{"a":1}\n', '"too long"\n'], ['{"a":1}\n"too long"\n']]) {
      const read: unknown[] = [];
      const reading = async (): Promise<void> => {
        for await (const one of parseEventLines(pieces(cuts), { maxEventChars: 8 })) read.push(one);
      };
      await expect(reading()).rejects.toMatchObject({ code: 'STREAM_EVENT_TOO_LARGE' });
      expect(read).toEqual([{ a: 1 }]);
    }
  });
});
