import { HoldfastError } from '../kernel/error.ts';

/** Bytes or text as they come from a response body, a file or a socket. */
export type ByteSource = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/** How much one line or event may hold unless told otherwise: 16 Mi characters. */
export const DEFAULT_MAX_CHARS: number = 16 * 1024 * 1024;

/**
 * The lines of a byte stream, wherever its chunks were cut: inside a character, or between CR and LF. Lines end with LF,
 * CRLF or CR, the last one perhaps with nothing; a byte order mark at the start is dropped. Throws `STREAM_EVENT_TOO_LARGE` above `maxChars` in one line.
 */
export async function* textLines(source: ByteSource, maxChars: number): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  const splitter = new LineSplitter(maxChars);
  for await (const bytes of chunksOf(source)) {
    const text = typeof bytes === 'string' ? bytes : decoder.decode(bytes, { stream: true });
    yield* splitter.push(text);
    splitter.refuseTooLong();
  }
  yield* splitter.push(decoder.decode());
  splitter.refuseTooLong();
  if (splitter.rest !== '') yield splitter.rest;
}

class LineSplitter {
  rest = '';
  private readonly maxChars: number;
  private begun = false;
  private isTooLong = false;
  private endedWithCr = false;

  constructor(maxChars: number) {
    this.maxChars = maxChars;
  }

  push(chunk: string): string[] {
    if (chunk === '') return [];
    // A CR ends its line at once, so that a line is never late; the LF that may follow it then belongs to nothing. Nor
    // does a byte order mark at the start.
    const skipped = this.begun ? this.endedWithCr && chunk.startsWith('\n') : chunk.startsWith('\uFEFF');
    const text = skipped ? chunk.slice(1) : chunk;
    this.begun = true;
    this.endedWithCr = chunk.endsWith('\r');
    const lines: string[] = [];
    let from = 0;
    for (const end of text.matchAll(/\r\n|[\r\n]/g)) {
      const line = this.rest + text.slice(from, end.index);
      if (this.holdsTooMuch(line)) return lines;
      lines.push(line);
      this.rest = '';
      from = end.index + end[0].length;
    }
    const rest = this.rest + text.slice(from);
    if (!this.holdsTooMuch(rest)) this.rest = rest;
    return lines;
  }

  /** After the lines before it were handed out: where the chunks were cut must not decide whether they count. */
  refuseTooLong(): void {
    if (this.isTooLong) throw new HoldfastError('STREAM_EVENT_TOO_LARGE', { limitChars: this.maxChars });
  }

  private holdsTooMuch(line: string): boolean {
    if (line.length > this.maxChars) this.isTooLong = true;
    return this.isTooLong;
  }
}

async function* chunksOf(source: ByteSource): AsyncGenerator<Uint8Array | string, void, undefined> {
  if (Symbol.asyncIterator in source) {
    yield* source;
    return;
  }
  // Browsers learnt to iterate response bodies late.
  const reader = (source as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
