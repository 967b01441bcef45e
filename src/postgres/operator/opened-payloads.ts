import type { EditRecord, MessageDetail } from '../../operator/operator-records.ts';
import type { Operator } from '../../operator/operator.ts';
import type { SealAbout, Sealing } from '../../outbox/sealing.ts';
import { PERSON_HEADER, sealedOf } from '../../outbox/stored-payload.ts';

/** Shows payloads as they were sent, where they are sealed and can be opened; those that cannot are shown as they are kept. */
export function showOpened(show: Operator['show'], sealing: Sealing): Operator['show'] {
  const opened = async (payload: unknown, about: SealAbout): Promise<unknown> => {
    const sealed = sealedOf(payload);
    if (!sealed) return payload;
    try {
      const { open } = sealing;
      return JSON.parse(await open(sealed, about)) as unknown;
    } catch {
      return payload;
    }
  };
  return async (id) => {
    const found = await show(id);
    if (found.kind !== 'found') return found;
    const { message } = found;
    const about = aboutOf(message);
    const edits: EditRecord[] = [];
    for (const edit of message.edits) edits.push({ ...edit, payload: await opened(edit.payload, about) });
    return { ...found, message: { ...message, payload: await opened(message.payload, about), edits } };
  };
}

function aboutOf({ id, type, headers }: MessageDetail): SealAbout {
  return { id, type, person: headers[PERSON_HEADER] };
}
