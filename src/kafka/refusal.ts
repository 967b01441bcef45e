import { HoldfastError } from '../kernel/error.ts';

/** What the broker says to one message, one batch or one topic, and would say again. Everything else passes, or cannot be told. */
const FOR_GOOD = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'CORRUPT_MESSAGE',
  'INVALID_TOPIC_EXCEPTION',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'UNSUPPORTED_FOR_MESSAGE_FORMAT',
  'POLICY_VIOLATION',
]);
const CLOSED = 'TOPIC_AUTHORIZATION_FAILED';
const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);
/** What one record can be to blame for, and those beside it not. */
const OF_A_RECORD = new Set([...TOO_LARGE, 'INVALID_RECORD', 'CORRUPT_MESSAGE', 'POLICY_VIOLATION']);

/** What a partition answered to a batch of records. */
export type PartitionAnswer =
  | { readonly kind: 'published' }
  | { readonly kind: 'refused'; readonly of: 'record' | 'topic'; readonly error: HoldfastError };

interface Nested {
  readonly errors?: readonly unknown[];
  readonly cause?: unknown;
  readonly apiId?: string;
  readonly message?: string;
  readonly path?: string;
  readonly response?: {
    readonly responses?: readonly {
      readonly name: string;
      readonly topicId?: string;
      readonly partitionResponses?: readonly { readonly index: number; readonly errorCode: number }[];
    }[];
  };
  readonly produced?: { readonly offsets?: readonly { readonly topic: string; readonly partition: number }[] };
}

/** All errors in an error, the outer ones first. */
function* errorsIn(error: unknown): Generator<Nested> {
  if (typeof error !== 'object' || error === null) return;
  const { errors = [], cause }: Nested = error;
  yield error;
  for (const inner of errors) yield* errorsIn(inner);
  yield* errorsIn(cause);
}

/** True if an error in it has one of these names of Kafka's protocol. */
export function isApiError(error: unknown, ...names: readonly string[]): boolean {
  return [...errorsIn(error)].some(({ apiId }) => apiId !== undefined && names.includes(apiId));
}

/** Why a topic cannot be used, in an error about its metadata; nothing: it is no matter of the topic. */
export function topicRefusal(error: unknown, topic: string): HoldfastError | undefined {
  for (const { apiId, message } of errorsIn(error)) {
    if (apiId !== undefined && FOR_GOOD.has(apiId)) return refused(topic, apiId, error);
    if (apiId === 'UNKNOWN_TOPIC_OR_PARTITION' || message?.startsWith('Unknown topic '))
      return refused(topic, 'UNKNOWN_TOPIC_OR_PARTITION', error);
  }
  return undefined;
}

/** The topics that may not be read, and why, in an error of `fetch`. It names them by their ids, which `names` tells the names of. */
export function closedIn(error: unknown, names: ReadonlyMap<string, string>): ReadonlyMap<string, HoldfastError> {
  const closed = new Map<string, HoldfastError>();
  for (const { response, errors = [] } of errorsIn(error)) {
    for (const [place, { topicId = '' }] of (response?.responses ?? []).entries()) {
      const isHere = ({ path, apiId }: Nested): boolean =>
        apiId === CLOSED && (path?.startsWith(`/responses/${place}/`) ?? false);
      const topic = names.get(topicId);
      if (topic !== undefined && (errors as readonly Nested[]).some(isHere))
        closed.set(topic, refused(topic, CLOSED, error));
    }
  }
  return closed;
}

/**
 * What each partition answered, by `topic/partition`, read out of an error of `send`: it throws as soon as one partition refuses, and
 * the others have taken theirs. Of a partition that is not in it nothing is known.
 */
export function answersIn(error: unknown): ReadonlyMap<string, PartitionAnswer> {
  const answers = new Map<string, PartitionAnswer>();
  for (const { response, errors = [], produced } of errorsIn(error)) {
    for (const { topic, partition } of produced?.offsets ?? [])
      answers.set(`${topic}/${partition}`, { kind: 'published' });
    for (const [place, { name, partitionResponses = [] }] of (response?.responses ?? []).entries()) {
      for (const [at, { index, errorCode }] of partitionResponses.entries()) {
        const path = `/responses/${place}/partition_responses/${at}`;
        const found = (errors as readonly Nested[]).find((one) => one.path === path);
        const answer = errorCode === 0 ? ({ kind: 'published' } as const) : refusal(name, found);
        if (answer) answers.set(`${name}/${index}`, answer);
      }
    }
  }
  return answers;
}

function refusal(topic: string, error: Nested | undefined): PartitionAnswer | undefined {
  const { apiId } = error ?? {};
  if (apiId === undefined || !FOR_GOOD.has(apiId)) return undefined;
  return { kind: 'refused', of: OF_A_RECORD.has(apiId) ? 'record' : 'topic', error: refused(topic, apiId, error) };
}

function refused(topic: string, answer: string, cause: unknown): HoldfastError {
  return TOO_LARGE.has(answer)
    ? new HoldfastError('KAFKA_MESSAGE_TOO_LARGE', { topic }, { cause })
    : new HoldfastError('KAFKA_TOPIC_REFUSED', { topic, answer }, { cause });
}
