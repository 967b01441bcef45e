import { randomUUID } from 'node:crypto';
import { type ChatStore, NO_STORE, type SavedConversation, type TurnProgress } from './chat-store.ts';
import { createTurn, type LiveTurn, type Turn } from './live-turn.ts';
import { answerTurn, type TurnInput } from './turn.ts';
import type { HistoryEntry, TurnOutcome } from './turn-event.ts';

interface Conversation {
  readonly id: string;
  readonly history: readonly HistoryEntry[];
  /** The turn under way. */
  readonly turn: Turn | undefined;
}

type StartResult =
  | { readonly kind: 'started'; readonly turn: Turn }
  | { readonly kind: 'busy'; readonly turn: Turn }
  | { readonly kind: 'full' };

interface Kept extends Conversation {
  readonly history: HistoryEntry[];
  turn: LiveTurn | undefined;
}

const MAX_CONVERSATIONS = 200;
const MAX_ENTRIES = 400;

/** All conversations, the 200 used last: read from the store at the start, and written to it before anybody is told. */
export class Conversations {
  readonly #provider: TurnInput['provider'];
  readonly #retry: () => TurnInput['retry'];
  readonly #store: ChatStore;
  readonly #kept = new Map<string, Kept>();
  readonly #turns = new Map<string, LiveTurn>();
  readonly #listeners = new Map<string, Set<(turn: Turn) => void>>();
  readonly #running = new Set<Promise<void>>();

  /** Turns ask `provider` and wait as `retry` says, which is asked once for each turn. */
  constructor(provider: TurnInput['provider'], retry: () => TurnInput['retry'], store: ChatStore = NO_STORE) {
    this.#store = store;
    this.#provider = provider;
    this.#retry = retry;
  }

  /** Reads what was saved, and goes on with the turns that had not ended. */
  async restore(): Promise<void> {
    for (const saved of await this.#store.load(MAX_CONVERSATIONS)) this.#restoreOne(saved);
  }

  find(id: string): Conversation | undefined {
    return this.#kept.get(id);
  }

  findTurn(turnId: string): Turn | undefined {
    return this.#turns.get(turnId);
  }

  /** Starts a turn, unless one is under way in this conversation or its history is full. */
  start(conversationId: string, question: string): StartResult {
    const conversation = this.#open(conversationId);
    if (conversation.turn !== undefined) return { kind: 'busy', turn: conversation.turn };
    if (conversation.history.length >= MAX_ENTRIES) return { kind: 'full' };
    const turn = createTurn(randomUUID(), conversationId, question);
    this.#turns.set(turn.id, turn);
    conversation.turn = turn;
    const entry: HistoryEntry = { turnId: turn.id, role: 'user', text: question };
    conversation.history.push(entry);
    for (const listener of this.#listeners.get(conversationId) ?? []) listener(turn);
    this.#follow(this.#run(conversation, turn, () => this.#store.begin(conversationId, entry)));
    return { kind: 'started', turn };
  }

  /** Calls `listener` with each turn that starts in this conversation; gives back how to stop. */
  onStart(conversationId: string, listener: (turn: Turn) => void): () => void {
    const all = this.#listeners.get(conversationId) ?? new Set();
    this.#listeners.set(conversationId, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#listeners.delete(conversationId);
    };
  }

  /** Aborts every turn under way and waits until all are sealed. */
  async close(): Promise<void> {
    for (const turn of this.#turns.values()) turn.cancel();
    await Promise.all(this.#running);
  }

  #restoreOne({ id, history, open }: SavedConversation): void {
    const conversation: Kept = { id, history: [...history], turn: undefined };
    this.#kept.set(id, conversation);
    const question = history.findLast((entry) => entry.role === 'user');
    if (open === null || question?.role !== 'user') return;
    const turn = createTurn(open.turnId, id, question.text);
    this.#turns.set(turn.id, turn);
    conversation.turn = turn;
    this.#follow(this.#run(conversation, turn, async () => {}, open.progress));
  }

  #follow(run: Promise<void>): void {
    const done = run.catch((error: unknown) => console.error(error)).finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  async #run(conversation: Kept, turn: LiveTurn, begin: () => Promise<void>, resume?: TurnProgress): Promise<void> {
    let outcome: TurnOutcome = 'failed';
    const kept: HistoryEntry[] = [];
    try {
      await begin();
      outcome = await answerTurn({
        turn,
        history: conversation.history,
        provider: this.#provider,
        retry: this.#retry(),
        keep: (entry) => void kept.push(entry),
        save: (progress) => this.#store.progress(turn.id, progress),
        resume,
      });
      await this.#store.end(conversation.id, turn.id, kept);
    } finally {
      conversation.history.push(...kept);
      // First free, then told: whoever hears of the end may ask the next question at once.
      conversation.turn = undefined;
      turn.emit({ type: 'turn-end', conversationId: conversation.id, turnId: turn.id, outcome });
    }
  }

  #open(id: string): Kept {
    const conversation = this.#kept.get(id) ?? { id, history: [], turn: undefined };
    // Deleted first, so that the map is in order of use.
    this.#kept.delete(id);
    this.#kept.set(id, conversation);
    for (const old of this.#kept.values()) {
      if (this.#kept.size <= MAX_CONVERSATIONS) break;
      if (old.turn === undefined && old !== conversation) this.#forget(old);
    }
    return conversation;
  }

  #forget(conversation: Kept): void {
    this.#kept.delete(conversation.id);
    this.#follow(this.#store.forget(conversation.id));
    for (const entry of conversation.history) this.#turns.delete(entry.turnId);
  }
}
