import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SseEvent, sseEvents } from './index.ts';

async function* pieces<Piece>(values: readonly Piece[]): AsyncGenerator<Piece> {
  yield* values;
}

async function read(...parts: readonly (string | Uint8Array)[]): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of sseEvents(pieces(parts))) events.push(event);
  return events;
}

const message = (data: string, event = 'message', id = ''): SseEvent => ({ kind: 'event', event, data, id });

const WIRE =
  '\uFEFF: hello\n' +
  'event: start\r\ndata: {"a":\r\ndata:  1}\r\nid: 7\r\n\r\n' +
  'data: grüße 🙂\r\r' +
  ':\n' +
  'retry: 3000\ndata\ndata:\n\n' +
  'event: done\n\n' +
  'data: cut off';

const EVENTS: readonly SseEvent[] = [
  { kind: 'comment', text: 'hello' },
  message('{"a":\n 1}', 'start', '7'),
  message('grüße 🙂', 'message', '7'),
  { kind: 'comment', text: '' },
  message('\n', 'message', '7'),
  message('', 'done', '7'),
];

describe('server-sent events', () => {
  test('are read with CRLF, CR and LF, several data lines, a byte order mark and comments; a cut event is dropped [S2.3]', async () => {
    expect(await read(WIRE)).toEqual(EVENTS);
  });

  test('are the same wherever the bytes are cut, inside a character too [S2.3]', async () => {
    const bytes = new TextEncoder().encode(WIRE);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 20 }), async (cuts) => {
        const sorted = [...cuts].sort((a, b) => a - b);
        const parts = [0, ...sorted].map((from, i) => bytes.slice(from, sorted[i] ?? bytes.length));
        expect(await read(...parts)).toEqual(EVENTS);
      }),
    );
    expect(await read(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(EVENTS);
  });

  test('an event is given as soon as its blank line is there, not a chunk later [S2.3]', async () => {
    const seen: string[] = [];
    const source = (async function* () {
      yield 'data: one\r\n\r';
      seen.push('second chunk');
      yield '\ndata: two\n\n';
    })();
    for await (const event of sseEvents(source)) seen.push(event.kind === 'event' ? event.data : '');
    expect(seen).toEqual(['one', 'second chunk', 'two']);
  });

  test('an id with a null character is ignored [S2.3]', async () => {
    expect(await read('id: a\0b\ndata: x\n\n')).toEqual([message('x')]);
  });

  test('are bounded, in one line and over many [S2.3]', async () => {
    const readAll = async (wire: string): Promise<void> => {
      for await (const _ of sseEvents(pieces([wire]), { maxEventChars: 20 }));
    };
    await expect(readAll(`data: ${'x'.repeat(30)}`)).rejects.toMatchObject({ code: 'STREAM_EVENT_TOO_LARGE' });
    await expect(readAll('data: 1234567\n'.repeat(4))).rejects.toMatchObject({ code: 'STREAM_EVENT_TOO_LARGE' });
    await readAll('data: 1234567\n\n'.repeat(40));
  });
});
