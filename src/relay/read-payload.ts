import { HoldfastError } from '../kernel/error.ts';
import type { HandledEvent } from '../outbox/event.ts';
import { describeIssue } from '../outbox/payload.ts';
import { isPlain, openPayload, PERSON_HEADER, VERSION_HEADER } from '../outbox/stored-payload.ts';
import type { Delivery } from './relay-store.ts';

/** Of which message a payload is. */
type PayloadOf = Pick<Delivery, 'id' | 'type' | 'headers'>;

/**
 * The payload as the handler gets it: opened, brought to the version of its event, and what its schema makes of it. At once where it
 * is plain, of that version and without a schema: then nothing is looked at but how its text begins and whether it has a header.
 * Throws `PAYLOAD_UNREADABLE`, `PAYLOAD_SEALED`, `PAYLOAD_ERASED` and `PAYLOAD_VERSION_UNKNOWN`.
 */
export function readPayload(event: HandledEvent<unknown>, delivery: PayloadOf, text: string): unknown {
  const version = versionOf(delivery);
  const own = event.version ?? 1;
  if (version > own) {
    throw new HoldfastError('PAYLOAD_VERSION_UNKNOWN', { type: event.type, found: version, known: own });
  }
  if (isPlain(text)) {
    const payload: unknown = JSON.parse(text);
    if (version === own) return event.schema ? validated(event, payload) : payload;
    return upcastAndValidated(event, version, payload);
  }
  const about = { id: delivery.id, type: delivery.type, person: delivery.headers?.[PERSON_HEADER] };
  return openPayload(event.sealing, text, about).then((opened) =>
    upcastAndValidated(event, version, JSON.parse(opened) as unknown),
  );
}

function versionOf({ headers }: PayloadOf): number {
  if (headers === undefined) return 1;
  const version = Number(headers?.[VERSION_HEADER] ?? 1);
  return Number.isSafeInteger(version) && version > 0 ? version : 1;
}

/** One step after the other. A step that throws is final: it would throw again. */
async function upcastAndValidated(event: HandledEvent<unknown>, version: number, old: unknown): Promise<unknown> {
  const { type, version: own = 1, upcast = {} } = event;
  let payload = old;
  for (let from = version; from < own; from += 1) {
    const step = upcast[from] as ((payload: unknown) => unknown) | undefined;
    if (!step) {
      const problem = `it is of version ${version}, and there is no upcast from version ${from}`;
      throw new HoldfastError('PAYLOAD_UNREADABLE', { type, problem });
    }
    try {
      payload = await step(payload);
    } catch (error) {
      throw new HoldfastError(
        'PAYLOAD_UNREADABLE',
        { type, problem: `upcast from version ${from} failed` },
        { cause: error },
      );
    }
  }
  return validated(event, payload);
}

async function validated(event: HandledEvent<unknown>, value: unknown): Promise<unknown> {
  if (!event.schema) return value;
  const result = await event.schema['~standard'].validate(value);
  const issue = result.issues?.[0];
  if (issue) throw new HoldfastError('PAYLOAD_UNREADABLE', { type: event.type, problem: describeIssue(issue) });
  return (result as { value: unknown }).value;
}
