import { counted } from '../parts/figures.ts';
import { shellWord } from '../message/message-acts.ts';
import type { Act } from '../shell/acts.tsx';

export const pauseAllAct: Act = {
  title: 'Pause everything?',
  text: 'Nothing is started anywhere until it is resumed; what runs goes on, and sending goes on.',
  verb: 'Pause everything',
  isDanger: true,
  path: 'pause-all',
  done: () => 'Everything is paused.',
  undo: { path: 'resume-all', done: () => 'Everything goes on.' },
  command: 'holdfast pause',
};

export const resumeAllAct: Act = {
  title: 'Resume everything?',
  text: 'What has piled up begins at once.',
  verb: 'Resume everything',
  path: 'resume-all',
  done: () => 'Everything goes on.',
  undo: { path: 'pause-all', done: () => 'Everything is paused.' },
  command: 'holdfast resume',
};

export function pauseAct(handler: string): Act {
  return {
    title: `Pause ${handler}?`,
    text: 'Its messages wait; what runs goes on.',
    verb: 'Pause',
    path: 'handlers/pause',
    body: { handler },
    done: () => `${handler} is paused.`,
    undo: { path: 'handlers/resume', body: { handler }, done: () => `${handler} goes on.` },
    command: `holdfast handlers pause ${shellWord(handler)}`,
  };
}

export function resumeAct(handler: string): Pick<Act, 'path' | 'body' | 'done' | 'undo'> {
  return {
    path: 'handlers/resume',
    body: { handler },
    done: () => `${handler} goes on.`,
    undo: { path: 'handlers/pause', body: { handler }, done: () => `${handler} is paused.` },
  };
}

export function limitAct(handler: string, limit: number | undefined): Act {
  return {
    title: `Limit ${handler}`,
    text: 'At most so many runs at once in each process, whatever its code says. Leave it empty to go by the code again.',
    verb: 'Set the limit',
    fields: [
      {
        kind: 'number',
        name: 'limit',
        label: 'Runs at once',
        hint: limit === undefined ? 'Now: as its code says' : `Now: ${limit}`,
      },
    ],
    path: 'handlers/limit',
    body: { handler },
    done: (answer: { readonly limit?: number }) =>
      answer.limit === undefined
        ? `${handler} runs as its code says.`
        : `${handler} runs at most ${answer.limit} at once.`,
    undo: {
      path: 'handlers/limit',
      body: limit === undefined ? { handler } : { handler, limit },
      done: () => 'The limit is as it was.',
    },
  };
}

export function retireAct(handler: string): Act {
  return {
    title: `Retire ${handler}?`,
    text: 'For a handler whose code is gone: it gets no further messages. A worker that registers it again brings it back.',
    verb: 'Retire',
    isDanger: true,
    fields: [{ kind: 'check', name: 'discardOpen', label: 'Also discard what is open or failed of it' }],
    path: 'handlers/retire',
    body: { handler },
    done: ({ discarded }: { readonly discarded: number }) =>
      `${handler} is retired${discarded > 0 ? `; ${counted(discarded, 'delivery', 'deliveries')} discarded` : ''}.`,
  };
}
