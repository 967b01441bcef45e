import { hideKnownForms, hideSecrets } from '../../kernel/hide-secrets.ts';
import type { LogFields } from '../../kernel/log.ts';
import { HIDDEN, isSecretName } from '../../kernel/secret-name.ts';
import { ID_FIELDS } from '../../operator/trace-rows.ts';
import { newId } from '../../system/new-id.ts';
import { LINK_LENGTH } from '../fan-out.ts';

/** What a fact is about. `retry` is a handler's attempt that failed. */
export type FactKind = 'request' | 'call' | 'idempotency' | 'retry' | 'note';

/** A fact as it waits to be written. */
export interface FactLine {
  readonly id: string;
  /** By the clock of this process. */
  readonly atMs: number;
  readonly service: string;
  readonly kind: FactKind;
  readonly isOk: boolean | undefined;
  readonly userId: string | undefined;
  readonly ids: readonly string[];
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** Text of a field beyond this is left out. */
const LONGEST_TEXT = 500;
/** Beyond so much text in all, only ids are kept: ten thousand facts may wait. */
const MOST_TEXT = 4_000;
const MOST_FIELDS = 40;
/** Some of their names only sound like secrets, and so do parts of what they hold: `order-7:token:v1`. */
const IDS: ReadonlySet<string> = new Set([...ID_FIELDS, 'userId', 'key']);

/** What may be kept of the fields: plain values, shortened, with what looks like a secret hidden. Never throws. */
export function factLine(about: Pick<FactLine, 'service' | 'kind' | 'isOk' | 'atMs'>, given: LogFields): FactLine {
  const fields: Record<string, string | number | boolean> = {};
  let length = 0;
  for (const [name, value] of Object.entries(given).slice(0, MOST_FIELDS)) {
    const kept = keptValue(name, value);
    if (kept === undefined || (length > MOST_TEXT && !IDS.has(name))) continue;
    fields[keptText(name)] = kept;
    length += name.length + String(kept).length;
  }
  const { userId, ...others } = fields;
  const ids = ID_FIELDS.map((name) => others[name]).filter(isId);
  return {
    ...about,
    id: newId(),
    userId: isId(userId) ? userId : undefined,
    // As the database counts: a sign that is two here is one there.
    ids: [...new Set(ids.map((id) => Array.from(id).slice(0, LINK_LENGTH).join('')))],
    fields: others,
  };
}

/** What was hidden finds nothing. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes(HIDDEN);
}

function keptValue(name: string, value: unknown): string | number | boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  if (IDS.has(name)) return storable(hideKnownForms(value.slice(0, LONGEST_TEXT)));
  return isSecretName(name) ? HIDDEN : keptText(value);
}

/** Text without what looks like a secret. */
function keptText(text: string): string {
  return storable(hideSecrets(text.slice(0, LONGEST_TEXT)));
}

/** Text that the database takes. Half of a pair that was cut becomes a sign of its own. */
function storable(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}
