import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import type { SchemaIssue, StandardSchema } from '../kernel/standard-schema.ts';
import { createClassifier } from '../retry/classifier.ts';
import type { Classify } from '../retry/failure.ts';
import { isInsideHandler } from '../retry/handler-scope.ts';
import { policy, type PolicyOptions } from '../retry/policy.ts';
import type { CallOptions } from './call-options.ts';
import type { ServiceClientOptions } from './client-options.ts';
import { answerOf } from './error-answer.ts';
import { requireObject } from './require-object.ts';
import { type HttpResult, serviceClient } from './service-client.ts';
import { isRecord } from './shape.ts';
import { timeoutLimit } from './timeout-limit.ts';

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** `null` for an assistant's message that only calls tools. */
  readonly content: string | null;
  readonly [field: string]: unknown;
}

export interface ChatRequest<T = string> extends CallOptions {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** Reads the reply as JSON and checks it. A reply that does not fit is never asked for again. */
  readonly schema?: StandardSchema<T>;
  /** Other fields of the request, as the provider names them: `temperature`, `max_tokens`, `tools`, `response_format`, … */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Names the call in logs and metrics. Default `llm.chat`. */
  readonly operation?: string;
}

/** A model's reply. */
export interface ChatResult<T> extends Omit<HttpResult<T>, 'data'> {
  /**
   * The text, or what the schema made of it. With calls of tools: the text beside them, if any, and
   * `undefined` where there is a schema, because what is said beside a call is no reply yet.
   */
  readonly reply: T;
  /** The tools the model wants called, as the provider sends them; empty for none. Put them into the next message as they are. */
  readonly toolCalls: readonly ChatToolCall[];
  readonly finishReason: string;
  /** Tokens as the provider counts them, when it says. */
  readonly usage: Readonly<Record<string, unknown>> | undefined;
}

/** One call of a tool. `function` is there unless the provider has tools of another kind. */
export interface ChatToolCall {
  readonly id: string;
  /** `arguments` is the JSON text the model wrote; it may be wrong. */
  readonly function?: { readonly name: string; readonly arguments: string };
  readonly [field: string]: unknown;
}

type WithSchema<T> = ChatRequest<T> & { readonly schema: StandardSchema<T> };
type AsText = ChatRequest & { readonly schema?: undefined };
type WithoutTools = { readonly fields?: Readonly<Record<string, unknown>> & { readonly tools?: undefined } };

/** A model provider. */
export interface Llm {
  /** Sends a chat and gives the reply. Only a request with `tools` among its `fields` can be answered without one. */
  chat(request: AsText & WithoutTools): Promise<ChatResult<string>>;
  chat<T>(request: WithSchema<T> & WithoutTools): Promise<ChatResult<T>>;
  chat(request: AsText): Promise<ChatResult<string | undefined>>;
  chat<T>(request: WithSchema<T>): Promise<ChatResult<T | undefined>>;
  chat(request: ChatRequest<unknown>): Promise<ChatResult<unknown>>;
}

/** What `llm` takes: the options of `serviceClient`, and where chats go. */
export interface LlmOptions extends ServiceClientOptions {
  /** Default `/chat/completions`. */
  readonly path?: string;
}

const CHAT_TIMEOUT_MS = 120_000;

const CHAT_OPTIONS: PolicyOptions = {
  baseDelayMs: 1_000,
  maxDelayMs: 20_000,
  timeoutMs: CHAT_TIMEOUT_MS,
  hint: { maxMs: 60_000, above: 'stop' },
};

/** Three attempts of two minutes, 1 s doubling to 20 s; a provider's hint counts up to a minute, a longer one ends the call. */
const CHAT_POLICY = policy(CHAT_OPTIONS);

/** The same inside a handler, whose message has attempts of its own: one. */
const NESTED_CHAT_POLICY = policy({ ...CHAT_OPTIONS, maxAttempts: 1 });

/**
 * A client for providers that speak OpenAI's chat completions. Transient provider errors (429, 5xx, 529 and overload codes,
 * also inside an answer with status 200) are retried with the provider's hint as a floor; a spent quota, refused content,
 * a bad request and a reply that fails its schema are not. Pass `policy: llmProvider` to wait for hours. A chat changes
 * nothing at the provider, so it is repeated without an idempotency key; a lost answer is paid twice. An attempt may take
 * two minutes, unless the request or the policy says how long. Inside a handler a chat without a policy has one attempt.
 */
export function llm(options: LlmOptions): Llm {
  requireObject('llm()', 'options', options, "pass an object such as { baseUrl: 'https://api.openai.com/v1' }");
  const { path = '/chat/completions', policy: own, ...rest } = options;
  const client = serviceClient({ ...rest, ...(own && { policy: own }), classify: providerClassify(rest) });
  // The default of policies is made for short calls, and those for providers leave the bound to the stream; a chat is neither.
  const given = own ?? CHAT_POLICY;
  const isBounded = given.timeoutMs !== undefined && given.timeoutMs !== Infinity;
  const boundMs = isBounded ? undefined : Math.min(CHAT_TIMEOUT_MS, timeoutLimit(given));
  const chat = async <T>(request: ChatRequest<T>): Promise<ChatResult<T>> => {
    requireObject('chat()', 'request', request, 'pass an object with model and messages');
    const { model, messages, schema, fields, operation = 'llm.chat', timeoutMs = boundMs, ...call } = request;
    const json = { ...fields, model, messages, stream: false };
    const { data, ...result } = await client.request({
      ...call,
      policy: own ?? (isInsideHandler() ? NESTED_CHAT_POLICY : CHAT_POLICY),
      timeoutMs,
      operation,
      path,
      json,
      repeatable: true,
      schema: completionSchema(schema, fields?.['tools'] !== undefined),
    });
    return { ...result, ...data };
  };
  return { chat };
}

/** The provider's own codes in the body of a failed answer decide with its status, as they would in an error of its SDK. */
function providerClassify({ classify: before, effects }: ServiceClientOptions): Classify {
  const now = effects && (() => effects.now().wallMs);
  const classify = createClassifier({ unknown: 'fail', statuses: { 529: 'retry' }, ...(now ? { now } : {}) });
  return (error) => {
    const own = before?.(error);
    if (own !== undefined) return own;
    if (isHoldfastError(error, 'LLM_ERROR_IN_ANSWER')) return classify(asSdkError(error.details));
    const answer = isHoldfastError(error, 'HTTP_STATUS') ? answerOf(error) : undefined;
    if (!answer) return classify(error);
    return classify({ status: answer.status, headers: answer.headers, error: errorIn(parsed(answer.text)) });
  };
}

/** Gateways put the status they got from the model into the code. */
function asSdkError({ code, type }: ProviderError): object {
  return { error: { code, type }, ...(code !== undefined && /^[45]\d\d$/.test(code) ? { status: Number(code) } : {}) };
}

interface ProviderError {
  readonly code?: string;
  readonly type?: string;
}

type Completion<T> = Pick<ChatResult<T>, 'reply' | 'toolCalls' | 'finishReason' | 'usage'>;

/** Reads a completion, and throws what providers hide in a good answer: an error in the body, refused content. */
function completionSchema<T>(schema: StandardSchema<T> | undefined, hasTools: boolean): StandardSchema<Completion<T>> {
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: async (body) => {
        const problem = errorIn(body);
        if (problem) throw new HoldfastError('LLM_ERROR_IN_ANSWER', problem);
        const { message, finishReason } = firstChoice(body);
        const { content, refusal } = message;
        if (typeof refusal === 'string' && refusal !== '')
          throw new HoldfastError('LLM_CONTENT_REFUSED', { finishReason: 'refusal' });
        if (finishReason === 'content_filter') throw new HoldfastError('LLM_CONTENT_REFUSED', { finishReason });
        const usage = isRecord(body) && isRecord(body['usage']) ? body['usage'] : undefined;
        const toolCalls = hasTools ? (message['tool_calls'] ?? []) : [];
        if (!isToolCalls(toolCalls)) return missing('tool_calls');
        const rest = { toolCalls, finishReason, usage };
        const text = typeof content === 'string' ? content : undefined;
        // What is said beside a call is no reply yet. The type of a request with tools says that there may be none.
        if (toolCalls.length > 0) return { value: { reply: (schema ? undefined : text) as T, ...rest } };
        if (text === undefined) return missing('content');
        if (!schema) return { value: { reply: text as T, ...rest } };
        const result = await schema['~standard'].validate(parsed(text));
        return result.issues ? { issues: result.issues.map(inReply) } : { value: { reply: result.value, ...rest } };
      },
    },
  };
}

function firstChoice(body: unknown): { message: Readonly<Record<string, unknown>>; finishReason: string } {
  const choices = isRecord(body) ? body['choices'] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const { message, finish_reason: reason } = isRecord(choice) ? choice : {};
  return { message: isRecord(message) ? message : {}, finishReason: typeof reason === 'string' ? reason : 'unknown' };
}

function isToolCalls(value: unknown): value is readonly ChatToolCall[] {
  return Array.isArray(value) && value.every(isToolCall);
}

function isToolCall(value: unknown): boolean {
  if (!isRecord(value) || typeof value['id'] !== 'string') return false;
  const called = value['function'];
  if (called === undefined) return true;
  return isRecord(called) && typeof called['name'] === 'string' && typeof called['arguments'] === 'string';
}

function missing(field: string): { readonly issues: readonly SchemaIssue[] } {
  return { issues: [{ message: `no ${field}`, path: ['choices', 0, 'message', field] }] };
}

/** The code and type of an error object, where one stands; texts are left behind. */
function errorIn(body: unknown): ProviderError | undefined {
  const error = isRecord(body) ? body['error'] : undefined;
  if (!isRecord(error)) return undefined;
  const word = (name: string): Record<string, string> => {
    const value = error[name];
    const text = typeof value === 'number' ? String(value) : value;
    return typeof text === 'string' && /^[\w.-]{1,60}$/.test(text) ? { [name]: text } : {};
  };
  return { ...word('code'), ...word('type') };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function inReply(issue: SchemaIssue): SchemaIssue {
  return { ...issue, path: ['reply', ...(issue.path ?? [])] };
}
