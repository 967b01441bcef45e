import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkQuestion, isId } from './client-input.ts';
import type { Conversations } from './conversations.ts';
import { sendTurnAsLines } from './http-lines.ts';
import { readJson } from './read-json.ts';
import { findStaticFile } from './static-files.ts';

/** What the page's provider panel reads and changes. */
export interface Controls {
  /** With the provider's requests of this conversation, or of all. */
  read(conversationId: string | undefined): object;
  /** Changes the fields that are given; says what is wrong with them, or nothing. */
  change(fields: unknown): string | undefined;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly conversations: Conversations;
  readonly controls: Controls;
}

interface Route {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: RegExp;
  readonly answer: (exchange: Exchange, id: string) => Promise<void> | void;
}

const MAX_BODY_BYTES = 64 * 1024;

const ROUTES: readonly Route[] = [
  { method: 'POST', path: /^\/turns$/, answer: startTurn },
  { method: 'GET', path: /^\/turns\/([\w-]+)$/, answer: followTurn },
  { method: 'POST', path: /^\/turns\/([\w-]+)\/cancel$/, answer: cancelTurn },
  { method: 'GET', path: /^\/conversations\/([\w-]+)$/, answer: readConversation },
  { method: 'GET', path: /^\/provider$/, answer: readControls },
  { method: 'PUT', path: /^\/provider$/, answer: changeControls },
];

/** Answers one HTTP request: a route of the chat, else a file of the page, else 404. */
export async function answerHttp(exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  if (!isOwnHost(request.headers.host)) {
    // A foreign name that was made to lead here must not let its page read the chat (DNS rebinding).
    return sendProblem(response, 421, 'this chat answers to localhost, 127.0.0.1 and [::1] only');
  }
  const url = parseTarget(request);
  if (url === undefined) return sendProblem(response, 400, 'the request target is not a path');
  const path = url.pathname;
  const here = ROUTES.filter((route) => route.path.test(path));
  const route = here.find(({ method }) => method === request.method);
  if (route) return route.answer(exchange, route.path.exec(path)?.[1] ?? '');
  if (here.length > 0) {
    response.setHeader('allow', here.map(({ method }) => method).join(', '));
    return sendProblem(response, 405, `${path} takes ${here.map(({ method }) => method).join(' and ')} only`);
  }
  const file = request.method === 'GET' || request.method === 'HEAD' ? await findStaticFile(path) : undefined;
  if (file === undefined) return sendProblem(response, 404, `there is nothing at ${request.method} ${path}`);
  response.writeHead(200, { ...file.headers, 'content-length': file.bytes.length });
  response.end(request.method === 'HEAD' ? undefined : file.bytes);
}

async function startTurn({ request, response, conversations }: Exchange): Promise<void> {
  const body = await readJson(request, MAX_BODY_BYTES);
  if (!body.ok) return sendProblem(response, body.status, body.problem);
  const question = checkQuestion(body.value);
  if (!question.ok) return sendProblem(response, 400, question.problem);
  const result = conversations.start(question.value.conversationId, question.value.text);
  switch (result.kind) {
    case 'started':
      return sendTurnAsLines(response, result.turn);
    case 'busy':
      return sendProblem(response, 409, `turn ${result.turn.id} is under way; wait for its end or cancel it`);
    case 'full':
      return sendProblem(response, 409, 'this conversation is full; start another');
    default:
      return result satisfies never;
  }
}

function followTurn({ response, conversations }: Exchange, turnId: string): void {
  const turn = conversations.findTurn(turnId);
  if (turn === undefined) return sendProblem(response, 404, `there is no turn ${turnId}`);
  sendTurnAsLines(response, turn);
}

async function cancelTurn({ request, response, conversations }: Exchange, turnId: string): Promise<void> {
  // An empty body would do, but asking for JSON keeps pages of other sites from cancelling.
  const body = await readJson(request, MAX_BODY_BYTES);
  if (!body.ok) return sendProblem(response, body.status, body.problem);
  const turn = conversations.findTurn(turnId);
  if (turn === undefined) return sendProblem(response, 404, `there is no turn ${turnId}`);
  turn.cancel();
  sendJson(response, 202, { turnId, state: turn.state.kind });
}

function readConversation({ response, conversations }: Exchange, id: string): void {
  if (!isId(id)) return sendProblem(response, 400, 'a conversation id has at most 64 letters, digits, "-" and "_"');
  const conversation = conversations.find(id);
  sendJson(response, 200, {
    conversationId: id,
    messages: conversation?.history ?? [],
    turnId: conversation?.turn?.id ?? null,
  });
}

async function changeControls({ request, response, controls }: Exchange): Promise<void> {
  const body = await readJson(request, MAX_BODY_BYTES);
  if (!body.ok) return sendProblem(response, body.status, body.problem);
  const problem = controls.change(body.value);
  if (problem !== undefined) return sendProblem(response, 400, problem);
  sendJson(response, 200, controls.read(conversationOf(request)));
}

function readControls({ request, response, controls }: Exchange): void {
  sendJson(response, 200, controls.read(conversationOf(request)));
}

/** The conversation that `?conversation=` names. */
function conversationOf(request: IncomingMessage): string | undefined {
  return parseTarget(request)?.searchParams.get('conversation') ?? undefined;
}

/** Where the request goes; `undefined` for a target that is no address, such as `//`. */
function parseTarget({ url = '/' }: IncomingMessage): URL | undefined {
  return URL.parse(url, 'http://localhost') ?? undefined;
}

/** True for a name that only this machine itself goes by. */
export function isOwnHost(host: string | undefined): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host ?? '');
}

function sendJson(response: ServerResponse, status: number, value: object): void {
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
