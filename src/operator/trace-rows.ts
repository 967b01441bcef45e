import type { DeliveryError } from '../relay/relay-store.ts';
import type { FailureCycle } from './failure-cycle.ts';
import type { DeliveryStatus } from './operator-records.ts';

/** Something that was recorded because nothing else keeps it. Times are as the database wrote them. */
export interface FactRow {
  readonly id: string;
  readonly at: string;
  readonly service: string;
  readonly kind: string;
  readonly isOk: boolean | null;
  readonly userId: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One delivery of a message, open or finished. */
export interface TracedDelivery {
  /** Its number; 0: no handler is known for the type. */
  readonly handler: number;
  readonly service: string | null;
  readonly name: string | null;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly cycle: number;
  readonly rerun: number;
  readonly version: number;
  readonly error: DeliveryError | null;
  readonly firstFailedAt: string | null;
  readonly failureHistory: readonly FailureCycle[];
  readonly dueAt: string | null;
  readonly failedAt: string | null;
  readonly doneAt: string | null;
  readonly durationMs: number | null;
  readonly reason: string | null;
  readonly actor: string | null;
  readonly running: { readonly worker: string; readonly attempt: number; readonly startedAt: string } | null;
}

/** That a message came from a broker. */
export interface TracedArrival {
  /** `<service/type`. */
  readonly takenAs: string;
  readonly sourceId: string;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly times: number;
}

/** What was done to a message by hand. */
export interface TracedChange {
  readonly at: string;
  readonly actor: string;
  readonly verb: string;
  readonly reason: string | null;
  readonly handler: number | null;
  readonly service: string | null;
  readonly name: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A message and what became of it. */
export interface MessageRow {
  readonly id: string;
  readonly type: string;
  readonly key: string | null;
  readonly source: string;
  readonly createdAt: string;
  /** The three are null where the message's id serves. */
  readonly idempotencyKey: string | null;
  readonly correlationId: string | null;
  readonly causationId: string | null;
  readonly deliveries: readonly TracedDelivery[];
  readonly arrivals: readonly TracedArrival[] | null;
  readonly changes: readonly TracedChange[] | null;
}

/** What is kept under an idempotency key, which itself is not. */
export interface RecordRow {
  readonly id: string;
  readonly domain: string;
  readonly status: string;
  /** How often it was let in. */
  readonly run: number;
  readonly updatedAt: string;
  readonly expiresAt: string;
}

/** One step of a command. */
export interface TracedCommandEvent {
  readonly at: string;
  readonly kind: string;
  readonly from: string | null;
  readonly to: string;
  readonly attempt: number;
  readonly error: Pick<DeliveryError, 'name' | 'message' | 'code'> | null;
  readonly actor: string | null;
}

/** A command and its steps. */
export interface CommandRow {
  /** Also of its message. */
  readonly id: string;
  readonly service: string;
  readonly name: string;
  readonly target: string;
  readonly module: string;
  readonly idempotencyKey: string;
  /** How often its payload was edited: each has changed the key it hands on. */
  readonly edits: number;
  readonly correlation: Readonly<Record<string, string>>;
  readonly events: readonly TracedCommandEvent[];
}

/** The ids of one action: whatever has one of them belongs to it. */
const JOINED_FIELDS = [
  'requestId',
  'traceId',
  'correlationId',
  'causationId',
  'idempotencyKey',
  'recordId',
  'eventId',
  'commandId',
  'dlqId',
] as const;

/** Ids that many actions share: one may be asked for, but nothing is joined through it. */
const SHARED_FIELDS = ['runId', 'actorKey', 'missionId', 'missionInstanceId', 'sagaId', 'orgId'] as const;

/** Every field of a fact by which it is found, but the person's. */
export const ID_FIELDS: readonly string[] = [...JOINED_FIELDS, ...SHARED_FIELDS];

/** The ids through which a fact belongs to others. */
export function joinsOfFact({ fields }: FactRow): readonly string[] {
  return textsOf(fields, JOINED_FIELDS);
}

/** All ids by which a fact is found. */
export function idsOfFact(fact: FactRow): readonly string[] {
  return [...textsOf(fact.fields, ID_FIELDS), ...(fact.userId === null ? [] : [fact.userId])];
}

function textsOf(fields: FactRow['fields'], names: readonly string[]): readonly string[] {
  return names.map((name) => fields[name]).filter((value): value is string => typeof value === 'string');
}

/** The ids through which a message belongs to others: its own, and the keys its handlers hand on. */
export function joinsOfMessage(message: MessageRow): readonly string[] {
  const { id, idempotencyKey, correlationId, causationId, deliveries } = message;
  const given = [id, idempotencyKey, correlationId, causationId].filter((one) => one !== null);
  return [...given, ...deliveries.flatMap((delivery) => keyOf(message, delivery))];
}

/** All ids by which a message is found. */
export function idsOfMessage(message: MessageRow): readonly string[] {
  return [...joinsOfMessage(message), ...(message.arrivals ?? []).map(({ sourceId }) => sourceId)];
}

/** The idempotency key a handler was given, as `run.ts` makes it. */
function keyOf({ id, idempotencyKey }: MessageRow, { name, version, rerun }: TracedDelivery): readonly string[] {
  if (name === null) return [];
  const edited = version === 0 ? '' : `:v${version}`;
  return [`${idempotencyKey ?? id}:${name}${edited}${rerun === 0 ? '' : `:r${rerun}`}`];
}

/** The ids through which a command belongs to others: its own, the keys it hands on, and those of the action that asked for it. */
export function joinsOfCommand({ id, idempotencyKey, edits, correlation }: CommandRow): readonly string[] {
  // As `command_start` makes them.
  const edited = Array.from({ length: edits }, (_, at) => `${idempotencyKey}-e${at + 1}`);
  return [id, idempotencyKey, ...edited, ...textsOf(correlation, JOINED_FIELDS)];
}

/** All ids by which a command is found, but the person's. */
export function idsOfCommand(command: CommandRow): readonly string[] {
  return [...joinsOfCommand(command), command.target, ...textsOf(command.correlation, SHARED_FIELDS)];
}
