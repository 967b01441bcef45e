import { randomUUID } from 'node:crypto';
import { policy, retryStrategy, steps } from 'holdfast';
import { onTestFinished } from 'vitest';
import { type Provider, type ProviderPlan, startProvider } from '../../examples/agent-chat/provider.ts';
import { startChatServer } from '../../examples/agent-chat/server.ts';

export interface Chat {
  readonly url: string;
  readonly provider: Provider;
  /** A conversation nobody has used. */
  readonly conversationId: string;
  close(): Promise<void>;
}

const OVERLOADED = 'The service is temporarily overloaded. Please retry.';

/**
 * The whole example for one test, on free ports, closed at its end. The provider fails once for each wait unless the plan
 * says otherwise, and gives up after the last of `waitsMs`.
 */
export async function startChat(waitsMs: readonly number[], plan: Partial<ProviderPlan> = {}): Promise<Chat> {
  const provider = await startProvider({
    plan: { failures: waitsMs.length, fault: 'overloaded', message: OVERLOADED, ...plan },
    wordDelayMs: 0,
  });
  const waits = policy({ schedule: steps(waitsMs), timeoutMs: Infinity });
  const server = await startChatServer({ provider, retry: () => retryStrategy(waits) });
  const close = async (): Promise<void> => {
    await server.close();
    await provider.close();
  };
  onTestFinished(close);
  return { url: server.url, provider, conversationId: randomUUID(), close };
}

/** What the server has kept of a conversation. */
export async function readHistory(chat: Chat, conversationId = chat.conversationId): Promise<readonly Kept[]> {
  const response = await fetch(`${chat.url}/conversations/${conversationId}`);
  return ((await response.json()) as { messages: Kept[] }).messages;
}

interface Kept {
  readonly role: string;
  readonly text?: string;
  readonly message?: string;
  readonly code?: string;
}
