import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJson } from '../local-page/read-json.ts';

/** How the provider fails. The last two are never retried: one has shown text already, the other would fail again. */
export const FAULTS = ['overloaded', 'cut', 'error-event', 'cut-mid-reply', 'unauthorized'] as const;
export type Fault = (typeof FAULTS)[number];

/** What the provider does to the coming requests. */
export interface ProviderPlan {
  /** How many requests of each turn fail, from the first on. */
  readonly failures: number;
  readonly fault: Fault;
  /** The words of its errors; empty for those that fit the fault, `OWN_WORDS`. A cut connection has none. */
  readonly message: string;
}

const DEFAULT_PLAN: ProviderPlan = { failures: 2, fault: 'overloaded', message: '' };

/** What the provider says with each fault when its plan has no words; empty where it says nothing at all. */
export const OWN_WORDS: Readonly<Record<Fault, string>> = {
  overloaded: 'The service is temporarily overloaded. Please retry.',
  cut: '',
  'error-event': 'The model is overloaded and stopped before its answer began. Please retry.',
  'cut-mid-reply': '',
  unauthorized: 'The API key is not valid. Check it in your settings.',
};

interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** One request the provider saw, with its whole body. */
interface ProviderRequest {
  readonly number: number;
  readonly turnId: string;
  readonly answer: 'streamed' | '401' | '429' | 'cut' | 'error after 200' | 'cut in mid-reply';
  readonly body: { readonly messages: readonly ChatMessage[] };
}

export interface Provider {
  /** What a client takes as its base URL. */
  readonly url: string;
  plan: ProviderPlan;
  /** The last 200 requests, oldest first. */
  readonly requests: readonly ProviderRequest[];
  close(): Promise<void>;
}

interface ProviderOptions {
  readonly plan?: ProviderPlan;
  /** The pause between two words of a reply. Default 40. */
  readonly wordDelayMs?: number;
}

const ANSWERS: Record<Fault, ProviderRequest['answer']> = {
  overloaded: '429',
  cut: 'cut',
  'error-event': 'error after 200',
  'cut-mid-reply': 'cut in mid-reply',
  unauthorized: '401',
};

/**
 * A model provider on this machine that speaks the streaming wire format of OpenAI's chat completions and fails as its
 * plan says. It counts the requests of each turn by the `x-turn-id` header, so that turns do not disturb each other.
 */
export async function startProvider(options: ProviderOptions = {}): Promise<Provider> {
  const requests: ProviderRequest[] = [];
  const perTurn = new Map<string, number>();
  const closing = new AbortController();
  let plan = options.plan ?? DEFAULT_PLAN;
  let number = 0;

  const server = createServer((request, response) => {
    // A client that hangs up mid-reply is part of the game.
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      return sendError(response, 404, 'not_found_error', 'POST /v1/chat/completions is all there is.');
    }
    const json = await readJson(request, 1_000_000);
    if (!json.ok) return sendError(response, json.status, 'invalid_request_error', json.problem);
    const body = json.value as ProviderRequest['body'];
    const turnId = String(request.headers['x-turn-id'] ?? '');
    const ofTurn = (perTurn.get(turnId) ?? 0) + 1;
    // Deleted first, so that the map is in order of use and the oldest turn is the one to go.
    perTurn.delete(turnId);
    perTurn.set(turnId, ofTurn);
    if (perTurn.size > 1_000) perTurn.delete([...perTurn.keys()][0] ?? '');
    const fails = ofTurn <= plan.failures;
    requests.push({ number: ++number, turnId, answer: fails ? ANSWERS[plan.fault] : 'streamed', body });
    if (requests.length > 200) requests.shift();
    if (fails) return failAs(plan, response);
    await streamWords(response, replyTo(body.messages, ofTurn), options.wordDelayMs ?? 40, closing.signal);
    response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get plan() {
      return plan;
    },
    set plan(next) {
      plan = next;
    },
    requests,
    async close() {
      closing.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

async function failAs(plan: ProviderPlan, response: ServerResponse): Promise<void> {
  const message = plan.message.trim() === '' ? OWN_WORDS[plan.fault] : plan.message;
  switch (plan.fault) {
    case 'overloaded':
      return sendError(response, 429, 'overloaded_error', message);
    case 'unauthorized':
      return sendError(response, 401, 'authentication_error', message);
    case 'cut':
      response.destroy();
      return;
    case 'error-event':
      startStream(response);
      response.end(`data: ${JSON.stringify({ error: { type: 'overloaded_error', message } })}\n\n`);
      return;
    case 'cut-mid-reply':
      await streamWords(response, 'This reply will not come to its', 40);
      response.destroy();
  }
}

function sendError(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { type, message } }));
}

function startStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
}

async function streamWords(
  response: ServerResponse,
  text: string,
  wordDelayMs: number,
  signal?: AbortSignal,
): Promise<void> {
  startStream(response);
  response.write(chunk({ role: 'assistant', content: '' }, null));
  for (const word of text.match(/\S+\s*/g) ?? []) {
    if (response.destroyed) return;
    response.write(chunk({ content: word }, null));
    await sleep(wordDelayMs, undefined, { signal });
  }
}

function chunk(delta: object, finish: 'stop' | null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'chatcmpl-local', object: 'chat.completion.chunk', created: 0, model: 'local', choices })}\n\n`;
}

/** An honest answer: this is no model, and it says what it was sent. */
function replyTo(messages: readonly ChatMessage[], request: number): string {
  const asked = messages.findLast((message) => message.role === 'user')?.content ?? '';
  const quoted = asked.length > 80 ? `${asked.slice(0, 80)}…` : asked;
  const tries = request === 1 ? 'The first request got through.' : `It took ${request} requests to get through.`;
  const yours = messages.filter((message) => message.role === 'user').length;
  const mine = messages.length - yours;
  const sent = `${yours} ${yours === 1 ? 'message' : 'messages'} of yours${mine === 0 ? '' : ` and ${mine} of mine`}`;
  return (
    `You said “${quoted}”. I am a stand-in for a model and run on your machine. ${tries} ` +
    `I was sent ${sent}. The waiting you saw is not among them: it was shown to you and then forgotten.`
  );
}
