import { counted } from '../parts/figures.ts';
import { shellWord } from '../message/message-acts.ts';
import type { Act } from '../shell/acts.tsx';
import type { HeldKey } from './keys-page.tsx';

type Count = { readonly count: number };

function body({ service, handler, key }: HeldKey): { readonly handler: string; readonly key: string } {
  return { handler: `${service}/${handler}`, key };
}

/** All that failed or were parked of a key run again, in their order. */
export function replayKeyAct(row: HeldKey): Act {
  return {
    title: `Replay ${counted(row.failed, 'failed message')} of “${row.key}” at ${row.service}/${row.handler} in order?`,
    text: 'They run again in the order they were sent; what waits behind them follows.',
    verb: 'Replay in order',
    path: 'keys/replay',
    body: body(row),
    done: ({ count }: Count) => `${counted(count, 'message')} of the key run${count === 1 ? 's' : ''} again.`,
    command: `holdfast dlq:replay --handler ${shellWord(`${row.service}/${row.handler}`)} --key ${shellWord(row.key)}`,
  };
}

/** The key goes on past what failed. */
export function releaseAct(row: HeldKey): Act {
  return {
    title: `Release “${row.key}” at ${row.service}/${row.handler}?`,
    text: `What failed stays a dead letter and holds nothing any more. ${counted(row.behind, 'message')} behind it go${row.behind === 1 ? 'es' : ''} on: for this key the order is given up.`,
    verb: 'Release',
    path: 'keys/release',
    body: body(row),
    done: ({ count }: Count) => `${counted(count, 'message')} go${count === 1 ? 'es' : ''} on.`,
  };
}

/** The first that failed is given up. */
export function skipAct(row: HeldKey): Act {
  return {
    title: `Skip the head of “${row.key}” at ${row.service}/${row.handler}?`,
    text: 'The first that failed is discarded; what waits behind it goes on.',
    verb: 'Skip 1 message',
    isDanger: true,
    reason: 'needed',
    path: 'keys/skip',
    body: body(row),
    done: () => 'The head was skipped; the key goes on.',
  };
}
