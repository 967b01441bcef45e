import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { envelope, retryStrategy, type RetryStrategy } from 'holdfast';
import { sendProblem } from '../local-page/routes.ts';
import type { ChatStore } from './chat-store.ts';
import { checkControls } from './client-input.ts';
import { Conversations } from './conversations.ts';
import { answerHttp, type Controls } from './http-routes.ts';
import { OWN_WORDS, type Provider } from './provider.ts';
import { serveSockets } from './sockets.ts';
import { policyAtSpeed } from './wait-policy.ts';

export interface ChatServerOptions {
  readonly provider: Provider;
  /** Where conversations are kept. Default: nowhere but in memory. */
  readonly store?: ChatStore;
  /** Default 0: any free port. */
  readonly port?: number;
  /** How many times shorter than real all waits are. Default 1; the page can change it. */
  readonly speed?: number;
  /** How one turn waits. Default: the `llmProvider` policy at the given speed. */
  readonly retry?: () => RetryStrategy;
}

export interface ChatServer {
  readonly url: string;
  /** Seals every turn under way as aborted, closes all connections and stops listening. May be called again. */
  close(): Promise<void>;
}

/** Starts the chat: its page, the WebSocket and the HTTP-lines transport. Rejects with the system's error if the port is taken. */
export async function startChatServer(options: ChatServerOptions): Promise<ChatServer> {
  const settings = { speed: options.speed ?? 1 };
  const retry = options.retry ?? ((): RetryStrategy => retryStrategy(policyAtSpeed(settings.speed)));
  const conversations = new Conversations(options.provider, retry, options.store);
  await conversations.restore();
  const controls = controlsOf(options.provider, settings, conversations);
  const server = createServer((request, response) => {
    answerHttp({ request, response, conversations, controls }).catch((error: unknown) => {
      console.error(error);
      if (response.headersSent) response.destroy();
      else sendProblem(response, 500, 'something broke here; the log says what');
    });
  });
  const sockets = serveSockets(server, conversations);
  try {
    await listen(server, options.port ?? 0);
  } catch (error) {
    sockets.close();
    throw error;
  }
  const close = async (): Promise<void> => {
    await conversations.close();
    sockets.close();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  let closing: Promise<void> | undefined;
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () => (closing ??= close()),
  };
}

function controlsOf(provider: Provider, settings: { speed: number }, conversations: Conversations): Controls {
  return {
    read: (conversationId) => ({
      ...provider.plan,
      ownWords: OWN_WORDS,
      speed: settings.speed,
      waitsMs: envelope(policyAtSpeed(settings.speed)).waits.map((wait) => wait.delayMs),
      requests: provider.requests
        .filter(({ turnId }) => !conversationId || conversations.findTurn(turnId)?.conversationId === conversationId)
        .slice(-12)
        .map(({ number, answer, body }) => ({ number, answer, roles: body.messages.map((message) => message.role) })),
    }),
    change(fields) {
      const checked = checkControls(fields, provider.plan, settings.speed);
      if (!checked.ok) return checked.problem;
      provider.plan = checked.value.plan;
      settings.speed = checked.value.speed;
      return undefined;
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
