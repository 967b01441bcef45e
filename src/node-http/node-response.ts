/** What is used of Node's `ServerResponse`, of HTTP/1 and HTTP/2. */
export interface NodeResponse {
  statusCode: number;
  statusMessage: string;
  /** Of HTTP/2 only. */
  readonly stream?: unknown;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  getHeader(name: string): number | string | readonly string[] | undefined;
  getHeaderNames(): string[];
  /** As they were written, in the same order. HTTP/2 has it not: there names are in lower case. */
  getRawHeaderNames?(): string[];
  /** A copy; names in lower case. */
  getHeaders(): Readonly<Record<string, number | string | readonly string[] | undefined>>;
  setHeader(name: string, value: number | string | readonly string[]): unknown;
  removeHeader(name: string): void;
  writeHead(status: number, ...rest: unknown[]): unknown;
  write(chunk: unknown, ...rest: unknown[]): boolean;
  end(...args: unknown[]): unknown;
  emit(event: string, ...args: unknown[]): boolean;
  /** There in HTTP/2 too, but its types do not know it. */
  flushHeaders?(): void;
}
