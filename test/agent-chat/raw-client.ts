import { parseEventLines } from 'holdfast/stream';
import { WebSocket } from 'ws';
import type { Chat } from './chat.ts';

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

/** A client that knows nothing but the wire. */
export interface RawClient {
  /** All events so far. */
  readonly events: readonly Event[];
  ask(text: string): void;
  cancel(turnId: string): void;
  /** The first event of this type that has come or will come, from the given place on. */
  next(type: string, from?: number): Promise<Event>;
  hangUp(): void;
  /** Sends text as it is, where there is a socket to send it over. */
  sendRaw?(text: string): void;
}

type Address = Pick<Chat, 'url' | 'conversationId'>;

/** Opens a conversation over one of the two transports. */
export async function connect(
  transport: 'ws' | 'lines',
  chat: Address,
  conversationId = chat.conversationId,
): Promise<RawClient> {
  return transport === 'ws' ? connectSocket(chat, conversationId) : connectLines(chat, conversationId);
}

/** Events as they come, and promises of those that have not. */
class Inbox {
  readonly events: Event[] = [];
  readonly #waiting: { readonly type: string; readonly resolve: (event: Event) => void }[] = [];

  add(event: Event): void {
    this.events.push(event);
    for (const waiter of this.#waiting.splice(0)) {
      if (waiter.type === event.type) waiter.resolve(event);
      else this.#waiting.push(waiter);
    }
  }

  next(type: string, from = 0): Promise<Event> {
    const come = this.events.slice(from).find((event) => event.type === type);
    if (come) return Promise.resolve(come);
    return new Promise((resolve) => this.#waiting.push({ type, resolve }));
  }
}

async function connectSocket(chat: Address, conversationId: string): Promise<RawClient> {
  const inbox = new Inbox();
  const socket = new WebSocket(`${chat.url.replace('http', 'ws')}/socket`);
  const send = (message: object): void => socket.send(JSON.stringify(message));
  socket.on('message', (data: Buffer) => inbox.add(JSON.parse(data.toString('utf8')) as Event));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  send({ type: 'join', conversationId });
  await inbox.next('conversation');
  return {
    events: inbox.events,
    ask: (text) => send({ type: 'ask', text }),
    cancel: (turnId) => send({ type: 'cancel', turnId }),
    next: (type, from) => inbox.next(type, from),
    hangUp: () => socket.terminate(),
    sendRaw: (text) => socket.send(text),
  };
}

async function connectLines(chat: Address, conversationId: string): Promise<RawClient> {
  const inbox = new Inbox();
  const hangUp = new AbortController();
  const read = async (response: Response): Promise<void> => {
    if (!response.ok)
      return inbox.add({ type: 'refused', status: response.status, ...((await response.json()) as object) });
    for await (const event of parseEventLines(response.body ?? new ReadableStream())) inbox.add(event as Event);
  };
  const post = (path: string, body: object): Promise<Response> =>
    fetch(chat.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: hangUp.signal,
    });
  // What is read after hanging up ends with the hang-up; that is no failure of the test.
  const untilHungUp = (work: Promise<unknown>): void =>
    void work.catch((error: unknown) => {
      if (!hangUp.signal.aborted) throw error;
    });
  const conversation = (await (await fetch(`${chat.url}/conversations/${conversationId}`)).json()) as {
    turnId: string | null;
  };
  inbox.add({ type: 'conversation', ...conversation });
  if (conversation.turnId !== null) {
    untilHungUp(fetch(`${chat.url}/turns/${conversation.turnId}`, { signal: hangUp.signal }).then(read));
  }
  return {
    events: inbox.events,
    ask: (text) => untilHungUp(post('/turns', { conversationId, text }).then(read)),
    cancel: (turnId) => untilHungUp(post(`/turns/${turnId}/cancel`, {})),
    next: (type, from) => inbox.next(type, from),
    hangUp: () => hangUp.abort(),
  };
}
