import { OptionCheck } from '../kernel/check-options.ts';
import { checkPayloadMatches } from './check-request.ts';
import type { By, PayloadMatch } from './operator.ts';

/** Whose data: one of the two. */
export interface ErasureSubject {
  /** Everything about a person, as `person` of an event or of `send` said it, and `userId` of requests and commands. */
  readonly person?: string | undefined;
  /** All messages that have these values. */
  readonly payload?: readonly PayloadMatch[] | undefined;
}

/** What may be said besides. */
export interface ErasureOptions {
  /** Also messages that are not done yet: they are given up, and never handled. Default false: they are left, and counted. */
  readonly open?: boolean | undefined;
  /** Services whose idempotency records are searched, besides those that have handlers in this database. */
  readonly services?: readonly string[] | undefined;
}

/** How much there is, or was. */
export interface ErasureCounts {
  readonly messages: number;
  /** Messages that are not done yet: left as they are, unless `open` was said. */
  readonly open: number;
  readonly commands: number;
  /** Requests, outgoing calls and notes that are kept for `trace`. */
  readonly facts: number;
  readonly idempotencyRecords: number;
}

/** One erasure. It does not say whose. */
export interface Erasure {
  readonly id: string;
  readonly state: 'running' | 'done';
  readonly by: 'person' | 'payload';
  /** The same for the same subject, and tells nothing else about it. */
  readonly mark: string;
  readonly counts: ErasureCounts;
  readonly actor: string;
  readonly reason: string;
  readonly createdAt: Date;
  readonly endedAt: Date | undefined;
}

/** Erasing what is known of somebody. What it cannot reach is in docs/data-care.md: brokers, backups, other databases. */
export interface Erasures {
  /** How much would be erased. Changes nothing. */
  previewErase(subject: ErasureSubject, options?: ErasureOptions): Promise<ErasureCounts>;
  /**
   * Erases in batches, each committed by itself, and answers after some seconds at the latest: while it is `running`, call it again,
   * with the same subject, and it goes on where it was. So it does after a crash. Audited when it begins and when it is done.
   */
  erase(
    subject: ErasureSubject,
    by: By & { readonly reason: string },
    options?: ErasureOptions,
  ): Promise<{ readonly kind: 'erasing'; readonly erasure: Erasure }>;
  /** The newest first, at most 100. */
  erasures(): Promise<readonly Erasure[]>;
}

const MAX_PERSON_LENGTH = 150;

/** Refuses a subject that is none. Throws `INVALID_OPTIONS`. */
export function checkErasure(verb: string, subject: ErasureSubject, options: ErasureOptions): void {
  const check = new OptionCheck(`${verb}()`);
  const write = "pass { person: 'usr_1' }, or { payload: [{ path: ['customer', 'id'], value: 42 }] }";
  if (check.object('subject', subject, write)) {
    check.known(subject, ['person', 'payload'], 'subject.');
    const { person, payload } = subject;
    if ((person === undefined) === (payload === undefined)) check.refuse('subject', subject, write);
    if (person !== undefined && !(typeof person === 'string' && person !== '' && person.length <= MAX_PERSON_LENGTH))
      check.refuse('subject.person', person, `write 1 to ${MAX_PERSON_LENGTH} characters`);
    checkPayloadMatches(check, 'subject.payload', payload);
    if (payload?.length === 0) check.refuse('subject.payload', payload, 'pass at least one value');
  }
  if (check.object('options', options, 'pass { open, services }, or leave it out')) {
    check.known(options, ['open', 'services']);
    const { open, services } = options;
    if (open !== undefined && typeof open !== 'boolean') check.refuse('open', open, 'write true or false');
    if (services !== undefined && !(Array.isArray(services) && services.every((name) => typeof name === 'string')))
      check.refuse('services', services, 'pass names of services');
  }
  check.done();
}
