import type { IncomingMessage } from 'node:http';
import { readJson } from '../local-page/read-json.ts';
import { answerRoute, type HttpExchange, type Route, sendJson, sendProblem, targetOf } from '../local-page/routes.ts';
import { checkQuestion, isId } from './client-input.ts';
import type { Conversations } from './conversations.ts';
import { sendTurnAsLines } from './http-lines.ts';
import { findStaticFile } from './static-files.ts';

/** What the page's provider panel reads and changes. */
export interface Controls {
  /** With the provider's requests of this conversation, or of all. */
  read(conversationId: string | undefined): object;
  /** Changes the fields that are given; says what is wrong with them, or nothing. */
  change(fields: unknown): string | undefined;
}

interface Exchange extends HttpExchange {
  readonly conversations: Conversations;
  readonly controls: Controls;
}

const MAX_BODY_BYTES = 64 * 1024;

const ROUTES: readonly Route<Exchange>[] = [
  { method: 'POST', path: /^\/turns$/, answer: startTurn },
  { method: 'GET', path: /^\/turns\/([\w-]+)$/, answer: followTurn },
  { method: 'POST', path: /^\/turns\/([\w-]+)\/cancel$/, answer: cancelTurn },
  { method: 'GET', path: /^\/conversations\/([\w-]+)$/, answer: readConversation },
  { method: 'GET', path: /^\/provider$/, answer: readControls },
  { method: 'PUT', path: /^\/provider$/, answer: changeControls },
];

/** Answers one HTTP request: a route of the chat, else a file of the page, else 404. */
export function answerHttp(exchange: Exchange): Promise<void> {
  return answerRoute(exchange, ROUTES, findStaticFile);
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
  return targetOf(request)?.searchParams.get('conversation') ?? undefined;
}
