import { randomUUID } from 'node:crypto';
import { made, type Partner, text } from './partner.ts';

// What everybody gets, so that a score can be told from another run's by who calls, not by chance.
const SCORE = 72;

/** A product service: holds an interview and says how it went. */
export const interviewService: Partner = {
  scheme: 'Bearer',
  health: /^\/health$/,
  routes: [
    {
      operation: 'hold-session',
      method: 'POST',
      path: /^\/sessions$/,
      honoursKeys: true,
      answer: ({ body, memory }) => {
        const session = {
          sessionId: `session_${randomUUID()}`,
          runId: text(body, 'runId'),
          status: 'completed',
          score: SCORE,
        };
        memory.set(`session ${session.sessionId}`, session);
        return made(session);
      },
    },
  ],
};
