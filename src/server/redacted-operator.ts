import { HoldfastError } from '../kernel/error.ts';
import type { BreakerChanged, BreakerRecord } from '../operator/breaker-record.ts';
import type { Bulk, BulkChanged, BulkItem } from '../operator/bulk.ts';
import type { ErrorGroup } from '../operator/error-group.ts';
import type { AuditRecord, DeadLetter, MessageDetail } from '../operator/operator-records.ts';
import type { Operator, Page, PayloadMatch } from '../operator/operator.ts';
import type { TraceEntry } from '../operator/trace.ts';
import { describeReason, type DeliveryReason } from '../operator/why.ts';
import { withoutKeys } from './hidden-keys.ts';
import { REDACTED, type RedactionRules } from './redaction.ts';

/**
 * The operator as somebody sees it from whom places of payloads are hidden: what is there is replaced in all answers, texts of errors
 * and keys too unless they are shown, and what would find a hidden value by trying is refused with `FIELD_REDACTED`.
 */
export function redactedOperator(operator: Operator, rules: RedactionRules): Operator {
  const redacted = withoutPlaces(operator, rules);
  return rules.showsKeys ? redacted : withoutKeys(redacted);
}

function withoutPlaces(operator: Operator, rules: RedactionRules): Operator {
  const hide = new Hider(rules);
  return {
    ...operator,
    ...reads(operator, hide),
    ...failures(operator, hide),
    edit: async (id, payload, by, options) => {
      const found = await operator.show(id);
      if (found.kind !== 'found') return operator.edit(id, payload, by, options);
      // What is left hidden is meant to stay as it is, and not as it was before somebody else's edit.
      const { payload: before, version } = found.message;
      return operator.edit(id, rules.restore(payload, before), by, {
        ...options,
        version: options?.version ?? version,
      });
    },
    replayWhere: (filter, by, options) => {
      hide.check(filter);
      return operator.replayWhere(filter, by, options);
    },
    planBulk: async (request, by) => {
      hide.check(request.filter);
      const planned = await operator.planBulk(request, by);
      return { ...planned, bulk: hide.bulk(planned.bulk), sample: planned.sample.map(hide.deadLetter) };
    },
    startBulk: async (id, by) => hide.bulkChanged(await operator.startBulk(id, by)),
    pauseBulk: async (id, by) => hide.bulkChanged(await operator.pauseBulk(id, by)),
    resumeBulk: async (id, by) => hide.bulkChanged(await operator.resumeBulk(id, by)),
    cancelBulk: async (id, by) => hide.bulkChanged(await operator.cancelBulk(id, by)),
    bulk: async (id) => {
      const found = await operator.bulk(id);
      return found.kind === 'found' ? { ...found, bulk: hide.bulk(found.bulk) } : found;
    },
    bulks: async (filter) => page(await operator.bulks(filter), hide.bulk),
    bulkItems: async (id, filter) => page(await operator.bulkItems(id, filter), hide.item),
    openBreaker: async (name, by) => hide.breakerChanged(await operator.openBreaker(name, by)),
    closeBreaker: async (name, by) => hide.breakerChanged(await operator.closeBreaker(name, by)),
  };
}

type Reads = Pick<
  Operator,
  'messages' | 'find' | 'show' | 'why' | 'trace' | 'overview' | 'audit' | 'commands' | 'outgoingCalls' | 'breakers'
>;

function reads(operator: Operator, hide: Hider): Reads {
  return {
    messages: async (filter) => {
      hide.check({ payload: filter?.payload, text: filter?.error });
      const found = await operator.messages(filter);
      return { ...found, items: found.items.map(hide.summary) };
    },
    find: async (id) => {
      const found = await operator.find(id);
      return found.kind === 'found' ? { ...found, message: hide.summary(found.message) } : found;
    },
    show: async (id) => {
      const found = await operator.show(id);
      return found.kind === 'found' ? { ...found, message: hide.detail(found.message) } : found;
    },
    why: async (id) => {
      const answer = await operator.why(id);
      return answer.kind === 'why' ? { ...answer, deliveries: answer.deliveries.map(hide.reason) } : answer;
    },
    trace: async (id, options) => {
      const traced = await operator.trace(id, options);
      return traced.kind === 'trace' ? { ...traced, entries: traced.entries.map(hide.entry) } : traced;
    },
    overview: async (options) => {
      const overview = await operator.overview(options);
      const { breakers, audit } = overview;
      return { ...overview, breakers: breakers.map(hide.breaker), audit: audit.map(hide.audit) };
    },
    audit: async (filter) => page(await operator.audit(filter), hide.audit),
    commands: async (filter) =>
      page(await operator.commands(filter), (one) => ({ ...one, error: hide.text(one.error) })),
    outgoingCalls: async (filter) =>
      page(await operator.outgoingCalls(filter), (one) => ({ ...one, error: hide.text(one.error) })),
    breakers: async (filter) => page(await operator.breakers(filter), hide.breaker),
  };
}

type Failures = Pick<
  Operator,
  'deadLetters' | 'heldKeys' | 'groups' | 'group' | 'resolveGroup' | 'ignoreGroup' | 'reopenGroup'
>;

function failures(operator: Operator, hide: Hider): Failures {
  const changed = <T extends { readonly kind: string; readonly group?: ErrorGroup }>(outcome: T): T =>
    outcome.group === undefined ? outcome : { ...outcome, group: hide.group(outcome.group) };
  return {
    deadLetters: async (filter) => {
      hide.check(filter ?? {});
      return page(await operator.deadLetters(filter), hide.deadLetter);
    },
    heldKeys: async (filter) =>
      page(await operator.heldKeys(filter), (one) => ({
        ...one,
        holder: { ...one.holder, error: hide.error(one.holder.error) },
      })),
    groups: async (filter) => {
      hide.check({ text: filter?.search });
      return page(await operator.groups(filter), hide.group);
    },
    group: async (id) => {
      const found = await operator.group(id);
      if (found.kind !== 'found') return found;
      const sample = found.sample && hide.deadLetter(found.sample);
      return { ...found, group: hide.group(found.group), sample };
    },
    resolveGroup: async (id, by) => changed(await operator.resolveGroup(id, by)),
    ignoreGroup: async (id, by) => changed(await operator.ignoreGroup(id, by)),
    reopenGroup: async (id, by) => changed(await operator.reopenGroup(id, by)),
  };
}

function page<T, P extends Page<T>>(found: P & Page<T>, hide: (item: T) => T): P {
  return { ...found, items: found.items.map(hide) };
}

interface Filter {
  readonly payload?: readonly PayloadMatch[] | undefined;
  /** Looks into payloads. */
  readonly search?: string | undefined;
  /** Looks into texts of errors. */
  readonly text?: string | undefined;
}

/** Hides, value by value. */
class Hider {
  readonly #rules: RedactionRules;

  constructor(rules: RedactionRules) {
    this.#rules = rules;
  }

  /** Refuses a filter that would tell by what it finds. */
  check({ payload = [], search, text }: Filter): void {
    const hidden = payload.find(({ path }) => this.#rules.covers(path));
    if (hidden) throw new HoldfastError('FIELD_REDACTED', { field: `payload.${hidden.path.join('.')}` });
    if (search !== undefined) throw new HoldfastError('FIELD_REDACTED', { field: 'search' });
    if (text !== undefined && !this.#rules.showsErrors) throw new HoldfastError('FIELD_REDACTED', { field: 'error' });
  }

  readonly text = <T extends string | undefined>(text: T): T =>
    (text === undefined || this.#rules.showsErrors ? text : REDACTED) as T;

  readonly error = <T extends { readonly message: string; readonly stack?: string } | null | undefined>(
    error: T,
  ): T => {
    if (error === undefined || error === null || this.#rules.showsErrors) return error;
    const { stack: _, ...rest } = error;
    return { ...rest, message: REDACTED } as T;
  };

  readonly deadLetter = (one: DeadLetter): DeadLetter => ({ ...one, error: this.error(one.error) });

  readonly summary = <T extends { readonly lastError: string | undefined }>(one: T): T => ({
    ...one,
    lastError: this.text(one.lastError),
  });

  readonly detail = (message: MessageDetail): MessageDetail => ({
    ...this.summary(message),
    payload: this.#rules.payload(message.payload),
    headers: this.#rules.headers(message.headers),
    deliveries: message.deliveries.map((one) => ({
      ...one,
      error: this.error(one.error),
      failureHistory: one.failureHistory.map((cycle) => ({ ...cycle, error: this.error(cycle.error) })),
    })),
    edits: message.edits.map((edit) => ({ ...edit, payload: this.#rules.payload(edit.payload) })),
    audit: message.audit.map(this.audit),
  });

  readonly reason = (one: DeliveryReason): DeliveryReason => {
    if (!('lastError' in one.reason) || this.#rules.showsErrors) return one;
    const reason = { ...one.reason, lastError: REDACTED };
    return { ...one, reason, sentence: describeReason(reason) };
  };

  readonly entry = (entry: TraceEntry): TraceEntry =>
    entry.outcome === 'ok' ? entry : { ...entry, detail: this.text(entry.detail) };

  readonly breaker = (one: BreakerRecord): BreakerRecord => ({ ...one, error: this.error(one.error) });

  readonly breakerChanged = (outcome: BreakerChanged): BreakerChanged =>
    'breaker' in outcome ? { ...outcome, breaker: this.breaker(outcome.breaker) } : outcome;

  readonly group = (one: ErrorGroup): ErrorGroup => ({ ...one, error: this.error(one.error) });

  readonly item = (one: BulkItem): BulkItem => ({ ...one, error: this.error(one.error) });

  readonly bulk = (one: Bulk): Bulk => ({ ...one, filter: this.filter(one.filter) });

  readonly bulkChanged = (outcome: BulkChanged): BulkChanged =>
    'bulk' in outcome ? { ...outcome, bulk: this.bulk(outcome.bulk) } : outcome;

  /** Of an operation that somebody else began, who may see. */
  readonly filter = <T extends Filter>(filter: T): T => {
    const { payload, search } = filter;
    const shown = payload?.map((match) =>
      this.#rules.covers(match.path) ? { path: match.path, value: REDACTED } : match,
    );
    return {
      ...filter,
      ...(shown === undefined ? {} : { payload: shown }),
      ...(search === undefined ? {} : { search: REDACTED }),
    };
  };

  readonly audit = (one: AuditRecord): AuditRecord => {
    const { filter } = one.details;
    if (typeof filter !== 'object' || filter === null) return one;
    return { ...one, details: { ...one.details, filter: this.filter(filter) } };
  };
}
