import type { Act } from '../shell/acts.tsx';

const at = (id: string, verb: string): string => `delivery/schedules/${encodeURIComponent(id)}/${verb}`;

export function pauseScheduleAct(id: string): Act {
  return {
    title: `Pause the schedule ${id}?`,
    text: 'Times that pass while it is paused are left out; they are not made up for.',
    verb: 'Pause',
    path: at(id, 'pause'),
    done: () => `${id} is paused.`,
    undo: { path: at(id, 'resume'), done: () => `${id} goes on.` },
  };
}

export function resumeScheduleAct(id: string): Act {
  return {
    title: `Resume the schedule ${id}?`,
    text: 'It goes on with its next time.',
    verb: 'Resume',
    path: at(id, 'resume'),
    done: () => `${id} goes on.`,
    undo: { path: at(id, 'pause'), done: () => `${id} is paused.` },
  };
}

export function deleteScheduleAct(id: string): Act {
  return {
    title: `Delete the schedule ${id}?`,
    text: 'Nothing is published by it any more; what it has published goes on. This cannot be taken back.',
    verb: 'Delete the schedule',
    isDanger: true,
    path: at(id, 'delete'),
    done: () => `${id} is deleted.`,
  };
}
