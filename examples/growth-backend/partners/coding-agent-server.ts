import { randomUUID } from 'node:crypto';
import { made, madeBefore, type Partner, refused, text } from './partner.ts';

/** A coding agent that speaks the OpenCode server's API. A prompt is known by its `messageID`. */
export const codingAgentServer: Partner = {
  scheme: 'Bearer',
  health: /^\/global\/health$/,
  routes: [
    {
      operation: 'create-session',
      method: 'POST',
      path: /^\/session$/,
      honoursKeys: true,
      answer: ({ body, memory }) => {
        const session = { id: `ses_${randomUUID()}`, title: text(body, 'title'), version: '1' };
        memory.set(`session ${session.id}`, session);
        return made(session, 200);
      },
    },
    {
      operation: 'send-message',
      method: 'POST',
      path: /^\/session\/([^/]+)\/message$/,
      honoursKeys: false,
      answer: ({ names: [sessionID = ''], body, memory }) => {
        if (memory.get(`session ${sessionID}`) === undefined) return refused(404, 'there is no such session');
        const id = text(body, 'messageID');
        const before = memory.get(`message ${id}`) as object | undefined;
        if (before !== undefined) return madeBefore(before);
        const reply = {
          info: { id: `msg_${randomUUID()}`, role: 'assistant', sessionID, parentID: id },
          parts: [{ type: 'text', text: 'Practise answers aloud. Ask for feedback. Write down what was learned.' }],
        };
        memory.set(`message ${id}`, reply);
        return made(reply, 200);
      },
    },
  ],
};
