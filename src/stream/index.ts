export { aiSdk, type AiSdkPart } from './adapters/ai-sdk.ts';
export { type AnthropicEvent, anthropicMessages } from './adapters/anthropic-messages.ts';
export { openaiChat, type OpenAiChatChunk } from './adapters/openai-chat.ts';
export { openaiResponses, type OpenAiResponsesEvent } from './adapters/openai-responses.ts';
export { sse, type SseOptions } from './adapters/sse.ts';
export type { StreamTimeouts } from './attempt-timer.ts';
export type { ChunkMeaning, StreamAdapter } from './chunk-meaning.ts';
export { parseEventLines, serializeEventLine } from './event-lines.ts';
export { type PartialOutput, partialOutput } from './partial-output.ts';
export {
  isProviderRetryEndEvent,
  isProviderRetryEvent,
  isRetryStreamEvent,
  type ProviderRetryEndEvent,
  type ProviderRetryEvent,
  providerRetryEvent,
  type RetryStreamEvent,
  withoutRetryEvents,
} from './provider-retry-event.ts';
export { retryStream } from './retry-stream.ts';
export type { RetryStreamOptions } from './retry-stream-options.ts';
export { type SseEvent, sseEvents } from './sse-events.ts';
export type { OpenStream, StreamAttemptContext } from './stream-attempt.ts';
export type { ByteSource } from './text-lines.ts';
