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
  destroy(error?: unknown): unknown;
  emit(event: string, ...args: unknown[]): boolean;
  rawListeners(event: string): unknown[];
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  /** There in HTTP/2 too, but its types do not know it. */
  flushHeaders?(): void;
}

/** Functions of a response, to be called for it. */
export interface ResponseFunctions {
  readonly emit: (this: NodeResponse, event: string, ...args: unknown[]) => boolean;
  readonly writeHead: (this: NodeResponse, status: number, ...rest: unknown[]) => unknown;
  readonly write: (this: NodeResponse, chunk: unknown, ...rest: unknown[]) => boolean;
  readonly end: (this: NodeResponse, ...args: unknown[]) => unknown;
  readonly destroy: (this: NodeResponse, error?: unknown) => unknown;
  readonly flushHeaders: ((this: NodeResponse) => void) | undefined;
}

/** Those it has now. */
export function functionsOf(res: NodeResponse): ResponseFunctions {
  const now = res as unknown as ResponseFunctions;
  const { emit, writeHead, write, end, destroy, flushHeaders } = now;
  return { emit, writeHead, write, end, destroy, flushHeaders };
}
