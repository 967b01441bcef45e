import { OptionCheck } from '../kernel/check-options.ts';
import type { CallOptions } from './call-options.ts';
import type { ServiceClientOptions } from './client-options.ts';
import { commandId } from './command-id.ts';
import { type Health, probeHealth, type ProbeOptions } from './probe-health.ts';
import { requireObject } from './require-object.ts';
import { type HttpResult, serviceClient } from './service-client.ts';
import { shape, type Shaped } from './shape.ts';
import { path } from './target-url.ts';
import { timeoutLimit } from './timeout-limit.ts';

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

const MESSAGE_TIMEOUT_MS = 240_000;

const SESSION = shape({ id: 'string' });
const REPLY = shape({});

/** A client for a coding agent that speaks the OpenCode server's API. */
export function codingAgent(options: CodingAgentOptions): CodingAgent {
  requireObject('codingAgent()', 'options', options, "pass an object such as { baseUrl: 'http://127.0.0.1:4096' }");
  const { commandField = 'messageID', messageTimeoutMs, ...rest } = options;
  const limitMs = timeoutLimit(rest.policy);
  const check = new OptionCheck('codingAgent()');
  if (typeof commandField !== 'string' || commandField === '')
    check.refuse('commandField', commandField, "name a field, for example 'messageID'");
  if (messageTimeoutMs !== undefined) {
    check.number('messageTimeoutMs', messageTimeoutMs, { min: 1, max: Infinity, write: 'write milliseconds from 1' });
    if (messageTimeoutMs !== Infinity && messageTimeoutMs > limitMs)
      check.refuse(
        'messageTimeoutMs',
        messageTimeoutMs,
        `make it at most the policy's maxElapsedMs, which is ${limitMs}`,
      );
  }
  check.done();
  const client = serviceClient(rest);
  return {
    health: (probe = {}) => probeHealth(client, { operation: 'agent.health', path: '/global/health', ...probe }),
    async createSession(session) {
      requireObject('createSession()', 'session', session, "pass an object such as { idempotencyKey: 'run_1' }");
      const { title, fields, ...call } = session;
      const json = { ...fields, title };
      return client.request({ ...call, operation: 'agent.create-session', path: '/session', json, schema: SESSION });
    },
    async sendMessage(message) {
      requireObject('sendMessage()', 'message', message, 'pass an object with sessionId, text and idempotencyKey');
      const {
        sessionId,
        text,
        fields,
        timeoutMs = messageTimeoutMs ?? Math.min(MESSAGE_TIMEOUT_MS, limitMs),
        ...call
      } = message;
      const id = await commandId(sessionId, call.idempotencyKey);
      const result = await client.request({
        ...call,
        timeoutMs,
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
