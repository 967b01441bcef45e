import type { Act } from '../shell/acts.tsx';
import type { FlowKey } from './flow-table.tsx';

/** What can be done to a flow-control key. */
export function flowActs(row: FlowKey): Readonly<Record<'pause' | 'resume' | 'pin' | 'unpin' | 'reset', Act>> {
  const { key, parallelism, rate, periodMs } = row;
  const body = { key };
  const paused = { path: 'delivery/flow-controls/pause', body, done: () => `${key} is paused.` };
  const resumed = { path: 'delivery/flow-controls/resume', body, done: () => `${key} goes on.` };
  const limits = { key, parallelism, rate, periodMs };
  return {
    pause: {
      ...paused,
      title: `Pause ${key}?`,
      text: 'What is published under the key waits.',
      verb: 'Pause',
      undo: resumed,
    },
    resume: {
      ...resumed,
      title: `Resume ${key}?`,
      text: 'What waits goes on, within the limits of the key.',
      verb: 'Resume',
      undo: paused,
    },
    pin: {
      title: `Pin the limits of ${key}`,
      text: 'Messages do not change them any more, whatever they say. The period begins anew.',
      verb: 'Pin',
      fields: [
        { kind: 'number', name: 'parallelism', label: 'At once', initial: parallelism, hint: 'Empty: any' },
        { kind: 'number', name: 'rate', label: 'So many a period', initial: rate, max: 1_000_000, hint: 'Empty: any' },
        {
          kind: 'text',
          name: 'periodMs',
          label: 'Period, in seconds',
          initial: periodMs === undefined ? '' : String(periodMs / 1_000),
          example: '1',
          read: (text) => (text === '' ? undefined : Number(text) * 1_000),
        },
      ],
      path: 'delivery/flow-controls/pin',
      // What is not touched stays as it is.
      body: limits,
      done: () => `The limits of ${key} are pinned.`,
    },
    unpin: {
      title: `Unpin the limits of ${key}?`,
      text: 'The next message that names limits sets them.',
      verb: 'Unpin',
      path: 'delivery/flow-controls/unpin',
      body,
      done: () => `Messages set the limits of ${key} again.`,
    },
    reset: {
      title: `Reset the rate of ${key}?`,
      text: 'A new period begins now: as many may start as the rate allows.',
      verb: 'Reset',
      path: 'delivery/flow-controls/reset',
      body,
      done: () => `A new period of ${key} has begun.`,
    },
  };
}
