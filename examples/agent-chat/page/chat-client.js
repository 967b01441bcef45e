// @ts-check
// The chat's client side, for the page and for the terminal alike: of the platform it needs only fetch and WebSocket.
import { parseEventLines } from 'holdfast/stream';

/**
 * @typedef {import('./chat-client.d.ts').ChatClient} ChatClient
 * @typedef {import('./chat-client.d.ts').ChatClientOptions} ChatClientOptions
 * @typedef {import('./chat-client.d.ts').ChatEvent} ChatEvent
 */

const RECONNECT_MS = [500, 1_000, 2_000, 5_000];

/**
 * Opens a conversation over the given transport. It reconnects by itself until it is closed, and then is told the
 * conversation anew.
 *
 * @param {ChatClientOptions} options
 * @returns {ChatClient}
 */
export function openChat(options) {
  return options.transport === 'ws' ? new SocketChat(options) : new LinesChat(options);
}

/** Comes back after a lost connection, later each time, until a connection holds or it is closed. */
class Reconnect {
  #failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  held() {
    this.#failures = 0;
  }

  /** @param {() => void} connect */
  again(connect) {
    this.#timer = setTimeout(connect, RECONNECT_MS[Math.min(this.#failures, RECONNECT_MS.length - 1)]);
    this.#failures += 1;
  }

  close() {
    clearTimeout(this.#timer);
  }
}

/** @implements {ChatClient} */
class SocketChat {
  #reconnect = new Reconnect();
  #closed = false;
  /** @type {ChatClientOptions} */
  #options;
  /** @type {WebSocket | undefined} */
  #socket;

  /** @param {ChatClientOptions} options */
  constructor(options) {
    this.#options = options;
    this.#connect();
  }

  /** @param {string} text */
  ask(text) {
    return this.#send({ type: 'ask', text });
  }

  /** @param {string} turnId */
  cancel(turnId) {
    return this.#send({ type: 'cancel', turnId });
  }

  close() {
    this.#closed = true;
    this.#reconnect.close();
    this.#socket?.close();
  }

  #connect() {
    const { url, conversationId, onConnection, onEvent } = this.#options;
    const address = new URL('/socket', url);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    onConnection('connecting');
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener('open', () => {
      this.#reconnect.held();
      onConnection('open');
      this.#send({ type: 'join', conversationId });
    });
    socket.addEventListener('message', (message) => {
      if (!this.#closed) onEvent(JSON.parse(message.data));
    });
    socket.addEventListener('close', () => {
      if (this.#closed) return;
      onConnection('lost');
      this.#reconnect.again(() => this.#connect());
    });
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }
}

/** @implements {ChatClient} */
class LinesChat {
  #reconnect = new Reconnect();
  #closing = new AbortController();
  /** @type {ChatClientOptions} */
  #options;

  /** @param {ChatClientOptions} options */
  constructor(options) {
    this.#options = options;
    void this.#join();
  }

  /** @param {string} text */
  ask(text) {
    void this.#ask(text);
    return true;
  }

  /** @param {string} turnId */
  cancel(turnId) {
    this.#post(`/turns/${turnId}/cancel`, {}).catch(() => this.#lost());
    return true;
  }

  close() {
    this.#reconnect.close();
    this.#closing.abort();
  }

  /** Reads the conversation, and follows the turn under way if there is one. */
  async #join() {
    const { conversationId, onConnection, onEvent } = this.#options;
    onConnection('connecting');
    try {
      const { messages, turnId } = await (await this.#get(`/conversations/${conversationId}`)).json();
      this.#reconnect.held();
      onConnection('open');
      onEvent({ type: 'conversation', conversationId, messages });
      if (turnId !== null) await this.#follow(await this.#get(`/turns/${turnId}`));
    } catch {
      this.#lost();
    }
  }

  /** @param {string} text */
  async #ask(text) {
    const { conversationId, onEvent } = this.#options;
    try {
      const response = await this.#post('/turns', { conversationId, text });
      if (response.ok) await this.#follow(response);
      else onEvent({ type: 'refused', message: (await response.json()).error.message });
    } catch {
      this.#lost();
    }
  }

  /** @param {Response} response */
  async #follow(response) {
    let sealed = false;
    if (!response.ok || response.body === null) throw new Error(`the server answered ${response.status}`);
    for await (const line of parseEventLines(response.body)) {
      const event = /** @type {ChatEvent} */ (line);
      this.#options.onEvent(event);
      sealed = event.type === 'turn-end';
    }
    if (!sealed) throw new Error('the lines ended before the turn did');
  }

  #lost() {
    if (this.#closing.signal.aborted) return;
    this.#options.onConnection('lost');
    this.#reconnect.again(() => void this.#join());
  }

  /** @param {string} path */
  #get(path) {
    return fetch(new URL(path, this.#options.url), { signal: this.#closing.signal });
  }

  /**
   * @param {string} path
   * @param {object} body
   */
  #post(path, body) {
    return fetch(new URL(path, this.#options.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: this.#closing.signal,
    });
  }
}
