import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FindFile } from './static-files.ts';

/** One request and its response. */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What is answered at one path. `name` is what the group in `path` matched. */
export interface Route<Exchange extends HttpExchange> {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: RegExp;
  readonly answer: (exchange: Exchange, name: string) => Promise<void> | void;
}

/** Answers one HTTP request: one of the routes, else a file of the page, else 404. */
export async function answerRoute<Exchange extends HttpExchange>(
  exchange: Exchange,
  routes: readonly Route<Exchange>[],
  findFile: FindFile,
): Promise<void> {
  const { request, response } = exchange;
  if (!isOwnHost(request.headers.host)) {
    // A foreign name that was made to lead here must not let its page act for the user (DNS rebinding).
    return sendProblem(response, 421, 'this page answers to localhost, 127.0.0.1 and [::1] only');
  }
  const path = targetOf(request)?.pathname;
  if (path === undefined) return sendProblem(response, 400, 'the request target is not a path');
  const here = routes.filter((route) => route.path.test(path));
  const route = here.find(({ method }) => method === request.method);
  if (route) return route.answer(exchange, nameIn(route.path.exec(path)?.[1]));
  if (here.length > 0) {
    response.setHeader('allow', here.map(({ method }) => method).join(', '));
    return sendProblem(response, 405, `${path} takes ${here.map(({ method }) => method).join(' and ')} only`);
  }
  const file = request.method === 'GET' || request.method === 'HEAD' ? await findFile(path) : undefined;
  if (file === undefined) return sendProblem(response, 404, `there is nothing at ${request.method} ${path}`);
  response.writeHead(200, { ...file.headers, 'content-length': file.bytes.length });
  response.end(request.method === 'HEAD' ? undefined : file.bytes);
}

/** Where the request goes; `undefined` for a target that is no address, such as `//`. */
export function targetOf({ url = '/' }: IncomingMessage): URL | undefined {
  return URL.parse(url, 'http://localhost') ?? undefined;
}

/** True for a name that only this machine itself goes by. */
export function isOwnHost(host: string | undefined): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host ?? '');
}

export function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(JSON.stringify(value));
}

/** Answers with what is wrong and what to do about it. */
export function sendProblem(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message } });
}

/** The name in a path, as it was before it was written into one. */
function nameIn(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
