import Anthropic from '@anthropic-ai/sdk';
import { anthropicMessages } from '../../src/stream/index.ts';
import { anthropicOverloaded, messageAnswer, messages, preamble } from '../support/providers/anthropic.ts';
import { describeClient } from './client-cases.ts';

describeClient<Anthropic.RawMessageStreamEvent>({
  name: 'anthropic',
  adapter: anthropicMessages,
  open:
    (url) =>
    ({ signal }) =>
      new Anthropic({ apiKey: 'test', baseURL: url, maxRetries: 0 }).messages.create(
        { model: 'claude-test', max_tokens: 64, stream: true, messages: [{ role: 'user', content: 'Say hello' }] },
        { signal },
      ),
  textOf: (event) =>
    event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
  isPreamble: (event) => event.type === 'message_start',
  wire: {
    preamble: preamble(),
    text: messages.text,
    overload: messages.error('overloaded_error', 'Overloaded'),
    answer: messageAnswer,
    overloaded: anthropicOverloaded,
  },
});
