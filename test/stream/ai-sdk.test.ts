import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { type LanguageModel, streamText, type TextStreamPart, type ToolSet } from 'ai';
import { aiSdk, type OpenStream } from '../../src/stream/index.ts';
import { anthropicOverloaded, messageAnswer, messages, preamble } from '../support/providers/anthropic.ts';
import { chat, chatAnswer, openaiOverloaded } from '../support/providers/openai.ts';
import { describeClient } from './client-cases.ts';

type Part = TextStreamPart<ToolSet>;

const stream =
  (model: LanguageModel): OpenStream<Part> =>
  ({ signal }) =>
    streamText({
      model,
      prompt: 'Say hello',
      maxOutputTokens: 64,
      maxRetries: 0,
      abortSignal: signal,
      // It would print every error, also those that are retried.
      onError: () => undefined,
    }).stream;

const parts = {
  adapter: aiSdk,
  textOf: (part: Part) => (part.type === 'text-delta' ? part.text : ''),
  isPreamble: (part: Part) => part.type === 'start',
};

describeClient<Part>({
  ...parts,
  name: 'ai sdk with openai',
  open: (url) => stream(createOpenAI({ apiKey: 'test', baseURL: `${url}/v1` }).chat('gpt-test')),
  wire: {
    preamble: [chat.role(), chat.ping(), chat.empty()],
    text: chat.text,
    overload: chat.error({ code: 'server_is_overloaded', type: 'server_error', message: 'Overloaded' }),
    answer: chatAnswer,
    overloaded: openaiOverloaded,
  },
});

describeClient<Part>({
  ...parts,
  name: 'ai sdk with anthropic',
  open: (url) => stream(createAnthropic({ apiKey: 'test', baseURL: `${url}/v1` })('claude-test')),
  wire: {
    preamble: preamble(),
    text: messages.text,
    overload: messages.error('overloaded_error', 'Overloaded'),
    answer: messageAnswer,
    overloaded: anthropicOverloaded,
  },
});
