import type { ConsumerConfig, StreamConfig } from './nats-library.ts';

const NANOS = 1_000_000;
const MOST_OPEN = 10_000;

/** What is asked of a stream. */
export interface StreamNeeds {
  /** The subject that ours have in it, with `>` for the rest. */
  readonly subject: string;
  /** For so long the server must know what it has had. */
  readonly duplicateWindowMs: number;
  /** What is younger may not be taken away by the server itself. */
  readonly keepMs: number;
  readonly replicas: number;
}

/** Why a stream cannot keep what is promised, and what to do; nothing: it can. */
export function streamProblem(config: StreamConfig, needs: StreamNeeds): string | undefined {
  return losesConfirmed(config, needs) ?? losesUnread(config, needs) ?? takesNone(config, needs);
}

/** What was confirmed would be gone, or there twice. */
function losesConfirmed(config: StreamConfig, needs: StreamNeeds): string | undefined {
  if (config.no_ack === true) return 'it confirms nothing (no_ack); make it without';
  if (config.storage !== 'file')
    return `it is kept in ${config.storage}, and a restart loses it; make it with file storage`;
  if (config.num_replicas < needs.replicas)
    return `it has ${config.num_replicas} replicas, and ${needs.replicas} are asked for; raise num_replicas, or ask for fewer`;
  const windowMs = config.duplicate_window / NANOS;
  if (windowMs < needs.duplicateWindowMs)
    return `it knows for ${windowMs} ms what it has had, and a message may come again after ${needs.duplicateWindowMs} ms; raise duplicate_window`;
  return undefined;
}

/** The server would take away what somebody has still to read. */
function losesUnread(config: StreamConfig, { keepMs }: StreamNeeds): string | undefined {
  if (config.retention !== 'limits')
    return `its retention is ${config.retention}, which takes away what others have still to read; make it with limits`;
  const isBounded = [config.max_msgs, config.max_bytes].some((limit) => limit > 0);
  if (isBounded && config.discard !== 'new')
    return 'when it is full it drops the oldest, read or not; set discard to new, or take the limit away';
  if (config.max_msgs_per_subject > 0 && (config.discard !== 'new' || config.discard_new_per_subject !== true))
    return 'it keeps a number of messages for each subject and drops older ones, read or not; set max_msgs_per_subject to -1';
  const ageMs = config.max_age / NANOS;
  if (ageMs > 0 && ageMs < keepMs)
    return `it drops what is older than ${ageMs} ms, read or not; set max_age to 0 or to more than keepMs, which is ${keepMs}`;
  return undefined;
}

/** It would refuse what is published. */
function takesNone(config: StreamConfig, { subject }: StreamNeeds): string | undefined {
  if (config.mirror) return 'it is a mirror and takes nothing by itself; name the stream it mirrors';
  if (config.sealed === true) return 'it is sealed and takes nothing more; make another, with another prefix';
  const subjects = config.subjects ?? [];
  return subjects.some((one) => covers(one, subject))
    ? undefined
    : `it does not take the subject "${subject}", only ${subjects.join(', ') || 'none'}; add it to its subjects`;
}

/** True where each subject that `narrow` stands for is one that `wide` stands for. */
function covers(wide: string, narrow: string): boolean {
  const [ofWide, ofNarrow] = [wide.split('.'), narrow.split('.')];
  for (const [at, token] of ofWide.entries()) {
    const other = ofNarrow[at];
    if (token === '>') return other !== undefined;
    if (other === undefined || other === '>' || (token !== '*' && token !== other)) return false;
  }
  return ofWide.length === ofNarrow.length;
}

/** Why a consumer cannot keep what is promised, and what to do; nothing: it can. */
export function consumerProblem(config: ConsumerConfig, workingMs: number): string | undefined {
  const { ack_wait: ackWait = 0, max_deliver: maxDeliver = -1, max_ack_pending: mostOpen = -1 } = config;
  if (config.deliver_subject) return 'it is pushed to; make it a pull consumer';
  if (config.ack_policy !== 'explicit') return `its ack_policy is ${config.ack_policy}; make it with explicit`;
  if (maxDeliver > 0)
    return `it drops what was handed over ${maxDeliver} times; set max_deliver to -1, dead letters are made here`;
  if (mostOpen <= 0 || mostOpen > MOST_OPEN)
    return `it hands over ${mostOpen <= 0 ? 'any number' : mostOpen} at once; set max_ack_pending to a number from 1 to ${MOST_OPEN}`;
  if (config.filter_subject || (config.filter_subjects?.length ?? 0) > 0)
    return 'it leaves subjects out; make it without a filter, what is none of ours is left alone here';
  if (config.headers_only === true) return 'it hands over headers only; make it without headers_only';
  if (config.mem_storage === true || (config.inactive_threshold ?? 0) > 0)
    return 'it forgets how far it was read; make it without mem_storage and inactive_threshold';
  if (ackWait > 0 && ackWait / NANOS < 2 * workingMs)
    return `its ack_wait of ${ackWait / NANOS} ms is shorter than two signs of life; set it to ${2 * workingMs} ms or more`;
  return undefined;
}
