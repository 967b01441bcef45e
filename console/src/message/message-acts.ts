import { counted, shortId } from '../parts/figures.ts';
import type { Act } from '../shell/acts.tsx';

const at = (id: string, verb: string): string => `messages/${encodeURIComponent(id)}/${verb}`;

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

type Count = { readonly count: number };

/** Runs again what failed of a message, or one dead letter. */
export function replayAct(id: string, failed?: number): Act {
  return {
    title: failed === undefined ? `Replay ${shortId(id)}?` : `Replay ${counted(failed, 'failed handler')}?`,
    text: 'In place: the id and the idempotency key stay, attempts start from zero. What succeeded does not run again.',
    verb: 'Replay',
    path: at(id, 'replay'),
    done: ({ count }: Count) => `${counted(count, 'handler')} run${count === 1 ? 's' : ''} again.`,
    command: `holdfast dlq:replay --id ${id}`,
  };
}

/** Runs chosen handlers; `canRerun`: also those that succeeded. */
export function replayChosenAct(id: string, handlers: readonly string[], canRerun: boolean): Act {
  return {
    title: 'Replay chosen handlers',
    text: 'One that failed is replayed, a discarded one gets the message back, one that never had it gets it.',
    verb: 'Replay the chosen',
    fields: [
      { kind: 'choices', name: 'handlers', label: 'Handlers', choices: handlers },
      ...(canRerun
        ? [{ kind: 'check', name: 'rerun', label: 'Also run again what succeeded (only repeatable handlers)' } as const]
        : []),
    ],
    path: at(id, 'replay'),
    done: ({ count }: Count) => `${counted(count, 'handler')} run${count === 1 ? 's' : ''} again.`,
    command: `holdfast events:replay --event-id ${id} --projectors <names>`,
  };
}

/** Gives up what failed; with `isOpen` also what has not ended. */
export function discardAct(id: string, many: number, isOpen: boolean): Act {
  return {
    title: `Discard ${counted(many, isOpen ? 'open delivery' : 'failed delivery', isOpen ? 'open deliveries' : 'failed deliveries')}?`,
    text: 'It is given up, and its key goes on. A replay with its handler named brings it back, as long as the history is kept.',
    verb: 'Discard',
    isDanger: true,
    reason: 'needed',
    path: at(id, 'discard'),
    body: isOpen ? { open: true } : {},
    done: ({ count }: Count) => `${counted(count, 'delivery', 'deliveries')} discarded.`,
    command: `holdfast dlq:discard --id ${id} --reason <why>`,
  };
}

/** Takes back a scheduled message. */
export function cancelAct(id: string): Act {
  return {
    title: 'Cancel this scheduled message?',
    text: 'No handler will get it. This cannot be taken back; send it again if it is needed.',
    verb: 'Cancel the message',
    isDanger: true,
    path: at(id, 'cancel'),
    done: () => 'The message was cancelled.',
    command: `holdfast outbox:cancel --id ${id}`,
  };
}
