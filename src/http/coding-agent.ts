import { OptionCheck } from '../kernel/check-options.ts';
import type { CallOptions } from './call-options.ts';
import type { ServiceClientOptions } from './client-options.ts';
import { commandId } from './command-id.ts';
import { type Health, probeHealth, type ProbeOptions } from './probe-health.ts';
import { type HttpResult, serviceClient } from './service-client.ts';
import { shape, type Shaped } from './shape.ts';
import { path } from './target-url.ts';

export type AgentSession = Shaped<{ id: 'string' }>;
export type AgentReply = Readonly<Record<string, unknown>>;

export interface NewAgentSession extends CallOptions {
  /** One session for one key, however often it is asked for. */
  readonly idempotencyKey: string;
  readonly title?: string;
  /** Other fields of the request, as the agent's API names them. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface AgentMessage extends CallOptions {
  readonly sessionId: string;
  readonly text: string;
  /** Names this prompt, version included: `opencode:user_123:run_456:interview-plan:prompt-v4`. Equal keys are one prompt. */
  readonly idempotencyKey: string;
  /** Other fields of the request, as the agent's API names them: `model`, `agent`, `system`, … */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A coding agent's HTTP API. */
export interface CodingAgent {
  health(options?: ProbeOptions): Promise<Health>;
  createSession(session: NewAgentSession): Promise<HttpResult<AgentSession>>;
  /** Sends a prompt and waits for the reply. All attempts carry the same command id, so the agent can tell them from new prompts. */
  sendMessage(message: AgentMessage): Promise<HttpResult<AgentReply> & { readonly commandId: string }>;
}

/** What `codingAgent` takes: the options of `serviceClient`, and the name of the field that carries the command id. */
export interface CodingAgentOptions extends ServiceClientOptions {
  /** Default `messageID`. */
  readonly commandField?: string;
  /** Bound of each attempt of `sendMessage`. Default 240,000: Node's own fetch gives up on the first byte after 300 s. */
  readonly messageTimeoutMs?: number;
}

const SESSION = shape({ id: 'string' });
const REPLY = shape({});

/** A client for a coding agent that speaks the OpenCode server's API. */
export function codingAgent(options: CodingAgentOptions): CodingAgent {
  const { commandField = 'messageID', messageTimeoutMs = 240_000, ...rest } = options;
  const check = new OptionCheck('codingAgent()');
  if (typeof commandField !== 'string' || commandField === '')
    check.refuse('commandField', commandField, "name a field, for example 'messageID'");
  check.number('messageTimeoutMs', messageTimeoutMs, { min: 1, max: Infinity, write: 'write milliseconds from 1' });
  check.done();
  const client = serviceClient(rest);
  return {
    health: (probe = {}) => probeHealth(client, { operation: 'agent.health', path: '/global/health', ...probe }),
    createSession: ({ title, fields, ...call }) =>
      client.request({
        ...call,
        operation: 'agent.create-session',
        path: '/session',
        json: { ...fields, title },
        schema: SESSION,
      }),
    async sendMessage({ sessionId, text, fields, ...call }) {
      const id = await commandId(sessionId, call.idempotencyKey);
      const result = await client.request({
        timeoutMs: messageTimeoutMs,
        ...call,
        operation: 'agent.send-message',
        path: path`/session/${sessionId}/message`,
        headers: { 'x-command-id': id },
        json: { ...fields, [commandField]: id, parts: [{ type: 'text', text }] },
        schema: REPLY,
      });
      return { ...result, commandId: id };
    },
  };
}
