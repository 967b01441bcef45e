import { DELIVERY_TYPE, type DeliveryRequest } from '../delivery/delivery-request.ts';
import { MOVED_ADVICE, movedBy } from '../delivery/moved-delivery.ts';
import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { Operator, PayloadMatch } from '../operator/operator.ts';
import type { Traced } from '../operator/trace.ts';
import { type Call, callsOf } from './calls-of.ts';
import type { RedactionRules } from './redaction.ts';
import { ShownAnswer } from './shown-answer.ts';

const KEY_VERBS: ReadonlySet<string> = new Set(['replayKey', 'discardKey', 'releaseKey', 'skipKey']);
/** The most one page may have. */
const WHOLE_PAGE = 1_000;

/**
 * Any operator as somebody sees it from whom these rules hide something: what is hidden is replaced in all answers, and what would find a
 * hidden value by trying is refused with `FIELD_REDACTED`. An edit keeps what was left hidden, and nothing that is hidden is sent elsewhere.
 */
export function redactedOperator(operator: Operator, rules: RedactionRules): Operator {
  const shown = new ShownAnswer(rules);
  const own: Readonly<Record<string, (call: Call) => Call>> = {
    edit: () => editor(operator, rules) as Call,
    heldKeys: (call) => (rules.showsKeys ? call : onePage(call)),
    trace: (call) => (rules.showsKeys ? call : notByKey(call)),
  };
  return callsOf(operator, (name, args, call) => {
    refuseToTell(rules, name, args);
    return (own[name]?.(call) ?? call)(...args).then((answer) => shown.of(answer));
  });
}

interface Filter {
  readonly payload?: unknown;
  readonly search?: unknown;
  readonly error?: unknown;
  readonly key?: unknown;
  readonly filter?: Filter;
}

/** Refuses what would tell by what it finds, counts or changes. */
function refuseToTell(rules: RedactionRules, name: string, [first]: readonly unknown[]): void {
  const given = (typeof first === 'object' && first !== null ? first : {}) as Filter;
  const { payload, search, error, key } = given.filter ?? given;
  if (!rules.showsKeys && (KEY_VERBS.has(name) || key !== undefined)) throw refused('key');
  const matches = Array.isArray(payload) ? (payload as readonly PayloadMatch[]) : [];
  const hidden = matches.find((match) => Array.isArray(match.path) && rules.tells(match));
  if (hidden) throw refused(`payload.${hidden.path.join('.')}`);
  if (error !== undefined && !rules.showsErrors) throw refused('error');
  if (search === undefined) return;
  // Error groups are searched in texts of errors alone, all else in payloads as well.
  if (name === 'groups' ? !rules.showsErrors : rules.hasRules) throw refused(name === 'groups' ? 'error' : 'search');
}

function refused(field: string): HoldfastError {
  return new HoldfastError('FIELD_REDACTED', { field });
}

/** What is left hidden is meant to stay as it is, and not as it was before somebody else's edit. */
function editor(operator: Operator, rules: RedactionRules): Operator['edit'] {
  return async (id, payload, by, options) => {
    const found = await operator.show(id);
    if (found.kind !== 'found') return operator.edit(id, payload, by, options);
    const { payload: before, version, type } = found.message;
    const { value, kept } = rules.restoreEdit(payload, before);
    if (kept === 0) return operator.edit(id, value, by, options);
    const moved = type === DELIVERY_TYPE ? movedBy(before as DeliveryRequest, value) : undefined;
    if (moved !== undefined) {
      const check = new OptionCheck('edit()');
      check.add({ option: `payload.${moved}`, found: 'not what it was', write: MOVED_ADVICE });
      check.done();
    }
    return operator.edit(id, value, by, { ...options, version: options?.version ?? version });
  };
}

/** Where the next page begins is told by a key. */
function onePage(call: Call): Call {
  return async (filter) => {
    const found = (await call({ ...(filter as object), limit: WHOLE_PAGE, cursor: undefined })) as object;
    return { ...found, next: undefined };
  };
}

/** What was found by a key alone would tell that there is such a key. */
function notByKey(call: Call): Call {
  return async (...args) => {
    const traced = (await call(...args)) as Traced;
    if (traced.kind !== 'trace' || !Array.isArray(traced.as)) return traced;
    return traced.as.length > 0 && traced.as.every((as) => as === 'idempotency key') ? { kind: 'not-found' } : traced;
  };
}
