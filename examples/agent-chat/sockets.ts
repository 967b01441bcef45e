import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { isOwnHost } from '../local-page/routes.ts';
import { checkQuestion, isId } from './client-input.ts';
import type { Conversations } from './conversations.ts';
import type { Turn } from './live-turn.ts';

const PING_EVERY_MS = 30_000;

/**
 * The WebSocket transport at `/socket`. A client sends `{"type":"join","conversationId"}`, then any number of
 * `{"type":"ask","text"}` and `{"type":"cancel","turnId"}`. It is sent the conversation, then each turn's events.
 */
export function serveSockets(server: Server, conversations: Conversations): { close(): void } {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 });
  const silent = new WeakSet<WebSocket>();

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isOwnHost(request.headers.host)) return refuse(socket, '421 Misdirected Request');
    if (request.url !== '/socket') return refuse(socket, '404 Not Found');
    if (!isSameOrigin(request)) return refuse(socket, '403 Forbidden');
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on('pong', () => silent.delete(client));
      client.on('error', () => client.terminate());
      serveClient(client, conversations);
    });
  });
  const pinging = setInterval(() => {
    for (const client of sockets.clients) {
      if (silent.has(client)) client.terminate();
      silent.add(client);
      client.ping();
    }
  }, PING_EVERY_MS);
  return {
    close() {
      clearInterval(pinging);
      for (const client of sockets.clients) {
        client.close(1001, 'the server is going away');
        client.terminate();
      }
    },
  };
}

type Message = Readonly<Record<string, unknown>>;

function serveClient(client: WebSocket, conversations: Conversations): void {
  const leave: (() => void)[] = [];
  const send = (message: object): void => client.send(JSON.stringify(message));
  const follow = (turn: Turn): void => void leave.push(turn.follow(send));
  let joined: string | undefined;

  const join = ({ conversationId }: Message): string | undefined => {
    if (joined !== undefined) return 'this socket has joined a conversation already; open another';
    if (!isId(conversationId)) return 'join needs a conversationId, for example a UUID';
    joined = conversationId;
    const conversation = conversations.find(joined);
    send({ type: 'conversation', conversationId, messages: conversation?.history ?? [] });
    if (conversation?.turn) follow(conversation.turn);
    leave.push(conversations.onStart(joined, follow));
    return undefined;
  };
  const ask = ({ text }: Message): string | undefined => {
    if (joined === undefined) return 'join a conversation first';
    const question = checkQuestion({ conversationId: joined, text });
    if (!question.ok) return question.problem;
    const result = conversations.start(joined, question.value.text);
    if (result.kind === 'busy') return 'a turn is under way; wait for its end or cancel it';
    return result.kind === 'full' ? 'this conversation is full; start another' : undefined;
  };
  const cancel = ({ turnId }: Message): string | undefined => {
    const turn = isId(turnId) ? conversations.findTurn(turnId) : undefined;
    if (turn === undefined || turn.conversationId !== joined) return 'there is no such turn in this conversation';
    turn.cancel();
    return undefined;
  };
  const act: Readonly<Record<string, (message: Message) => string | undefined>> = { join, ask, cancel };

  client.on('message', (data: Buffer) => {
    const message = parse(data.toString('utf8'));
    const known = typeof message['type'] === 'string' && Object.hasOwn(act, message['type']);
    const problem = known ? act[String(message['type'])]?.(message) : 'type must be join, ask or cancel';
    if (problem !== undefined) send({ type: 'refused', message: problem });
  });
  client.on('close', () => {
    for (const stop of leave) stop();
  });
}

/** A browser tells which page opens the socket; a page of another site may not speak for the user here. */
function isSameOrigin(request: IncomingMessage): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

/** What the client sent; nothing at all if it was no JSON object. */
function parse(text: string): Message {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Message) : {};
  } catch {
    return {};
  }
}
