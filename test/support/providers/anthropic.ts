import { reply, type Reply } from './scripted-server.ts';

/** The Anthropic messages wire format, as frames of server-sent events. */
const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export const messages = {
  start: (): string =>
    event('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-test',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 7, output_tokens: 1 },
      },
    }),
  ping: (): string => event('ping'),
  textStart: (): string => event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  text: (text: string): string => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  blockStop: (): string => event('content_block_stop', { index: 0 }),
  delta: (): string =>
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } }),
  stop: (): string => event('message_stop'),
  error: (type: string, message: string): string => event('error', { error: { type, message } }),
} as const;

/** What stands before the first text of an answer, a ping included. */
export const preamble = (): readonly string[] => [messages.start(), messages.ping(), messages.textStart()];

/** A whole answer. */
export const messageAnswer = (...words: readonly string[]): Reply =>
  reply.stream([...preamble(), ...words.map(messages.text), messages.blockStop(), messages.delta(), messages.stop()]);

export const anthropicOverloaded = (status = 529): Reply =>
  reply.status(status, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
