import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import type { SchemaIssue, StandardSchema } from '../kernel/standard-schema.ts';
import { createClassifier } from '../retry/classifier.ts';
import type { Classify } from '../retry/failure.ts';
import { policy } from '../retry/policy.ts';
import type { CallOptions } from './call-options.ts';
import type { ServiceClientOptions } from './client-options.ts';
import { answerOf } from './error-answer.ts';
import { type HttpResult, serviceClient } from './service-client.ts';
import { isRecord } from './shape.ts';

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly [field: string]: unknown;
}

export interface ChatRequest<T = string> extends CallOptions {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** Reads the reply as JSON and checks it. A reply that does not fit is never asked for again. */
  readonly schema?: StandardSchema<T>;
  /** Other fields of the request, as the provider names them: `temperature`, `max_tokens`, `response_format`, … */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Names the call in logs and metrics. Default `llm.chat`. */
  readonly operation?: string;
}

/** A model's reply. */
export interface ChatResult<T> extends Omit<HttpResult<T>, 'data'> {
  /** The text, or what the schema made of it. */
  readonly reply: T;
  readonly finishReason: string;
  /** Tokens as the provider counts them, when it says. */
  readonly usage: Readonly<Record<string, unknown>> | undefined;
}

/** A model provider. */
export interface Llm {
  chat(request: ChatRequest & { readonly schema?: undefined }): Promise<ChatResult<string>>;
  chat<T>(request: ChatRequest<T>): Promise<ChatResult<T>>;
}

/** What `llm` takes: the options of `serviceClient`, and where chats go. */
export interface LlmOptions extends ServiceClientOptions {
  /** Default `/chat/completions`. */
  readonly path?: string;
}

const CHAT_TIMEOUT_MS = 120_000;

/** Three attempts of two minutes, 1 s doubling to 20 s; a provider's hint counts up to a minute, a longer one ends the call. */
const CHAT_POLICY = policy({
  baseDelayMs: 1_000,
  maxDelayMs: 20_000,
  timeoutMs: CHAT_TIMEOUT_MS,
  hint: { maxMs: 60_000, above: 'stop' },
});

/**
 * A client for providers that speak OpenAI's chat completions. Transient provider errors (429, 5xx, 529 and overload codes,
 * also inside an answer with status 200) are retried with the provider's hint as a floor; a spent quota, refused content,
 * a bad request and a reply that fails its schema are not. Pass `policy: llmProvider` to wait for hours. A chat changes
 * nothing at the provider, so it is repeated without an idempotency key; a lost answer is paid twice.
 */
export function llm(options: LlmOptions): Llm {
  const { path = '/chat/completions', ...rest } = options;
  const client = serviceClient({ policy: CHAT_POLICY, ...rest, classify: providerClassify(rest) });
  // The policies for providers leave the bound to the stream; a chat is none.
  const unbounded = rest.policy?.timeoutMs === Infinity ? CHAT_TIMEOUT_MS : undefined;
  const chat = async <T>(request: ChatRequest<T>): Promise<ChatResult<T>> => {
    const { model, messages, schema, fields, operation = 'llm.chat', timeoutMs = unbounded, ...call } = request;
    const json = { ...fields, model, messages, stream: false };
    const completion = completionSchema(schema);
    const { data, ...result } = await client.request({
      ...call,
      timeoutMs,
      operation,
      path,
      json,
      repeatable: true,
      schema: completion,
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

interface Completion<T> {
  readonly reply: T;
  readonly finishReason: string;
  readonly usage: Readonly<Record<string, unknown>> | undefined;
}

/** Reads a completion, and throws what providers hide in a good answer: an error in the body, refused content. */
function completionSchema<T>(schema: StandardSchema<T> | undefined): StandardSchema<Completion<T>> {
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: async (body) => {
        const problem = errorIn(body);
        if (problem) throw new HoldfastError('LLM_ERROR_IN_ANSWER', problem);
        const choice = firstChoice(body);
        if (!choice) return { issues: [{ message: 'no message', path: ['choices', 0, 'message', 'content'] }] };
        const { content, finishReason } = choice;
        if (finishReason === 'content_filter') throw new HoldfastError('LLM_CONTENT_REFUSED', { finishReason });
        const usage = isRecord(body) && isRecord(body['usage']) ? body['usage'] : undefined;
        if (!schema) return { value: { reply: content as T, finishReason, usage } };
        const result = await schema['~standard'].validate(parsed(content));
        return result.issues
          ? { issues: result.issues.map(inReply) }
          : { value: { reply: result.value, finishReason, usage } };
      },
    },
  };
}

function firstChoice(body: unknown): { content: string; finishReason: string } | undefined {
  const choices = isRecord(body) ? body['choices'] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (!isRecord(choice) || !isRecord(choice['message'])) return undefined;
  const { content } = choice['message'];
  const finishReason = typeof choice['finish_reason'] === 'string' ? choice['finish_reason'] : 'unknown';
  const withheld = finishReason === 'content_filter';
  return typeof content === 'string' || withheld
    ? { content: typeof content === 'string' ? content : '', finishReason }
    : undefined;
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
