import { randomUUID } from 'node:crypto';
import { made, type Partner } from './partner.ts';

const PLAN = { title: 'Speak with confidence', steps: ['Practise answers', 'Ask for feedback', 'Write it down'] };

/** A model provider that speaks OpenAI's chat completions. Its one reply is a plan as JSON. */
export const llmServer: Partner = {
  scheme: 'Bearer',
  health: /^\/v1\/models$/,
  routes: [
    {
      operation: 'chat',
      method: 'POST',
      path: /^\/v1\/chat\/completions$/,
      honoursKeys: true,
      answer: ({ body }) =>
        made(
          {
            id: `chatcmpl-${randomUUID()}`,
            object: 'chat.completion',
            model: body['model'],
            choices: [
              { index: 0, message: { role: 'assistant', content: JSON.stringify(PLAN) }, finish_reason: 'stop' },
            ],
            usage: { prompt_tokens: 40, completion_tokens: 25, total_tokens: 65 },
          },
          200,
        ),
    },
  ],
};
