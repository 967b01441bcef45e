import type { AuditAnchor, AuditProblem, AuditVerified } from '../../operator/audit-verify.ts';
import { isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import { AUDIT_VERBS, type AuditRecord, type AuditVerb } from '../../operator/operator-records.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { counted } from '../counted.ts';
import { sinceOf } from '../dead-letter-options.ts';
import { openOperator } from '../open-operator.ts';
import { subVerb } from '../page-options.ts';

const LIMIT = 50;
/** Columns below which it is no table. */
const TABLE_WIDTH = 120;
const VERBS = ['verify'] as const;
const FILTERS = ['since', 'message', 'by', 'verb', 'handler'];

/** `holdfast audit`: what was changed by hand. */
export const audit: Command = {
  name: 'audit',
  summary: 'List what was changed by hand: who did what, when and why, the newest first.',
  args: { usage: '[verify]', min: 0, max: 1 },
  verbs: VERBS,
  options: {
    since: { value: '<time>', summary: 'within this time (15m, 2h), or after a date' },
    message: { value: '<id>', summary: 'to this message; the id of a dead letter of it will do' },
    by: { value: '<name>', summary: 'by this one, as it is written there' },
    verb: { value: '<verb>', summary: AUDIT_VERBS.join(', ') },
    handler: { value: '<name>', summary: 'to or for this handler, or service/handler' },
    limit: { value: '<n>', summary: 'how many, up to 1000', default: String(LIMIT) },
    cursor: { value: '<text>', summary: 'go on from where the last list ended' },
    anchor: { value: '<place:hash>', summary: 'with verify: what an earlier verify said, kept elsewhere' },
  },
  details: [
    'Every change through this program, the operator functions or outbox_replay stands here. Times are UTC.',
    'verify: whether it is what was written. Each record is chained to the one before it; the first broken one is named.',
  ],
  examples: [
    'holdfast audit --since 2h',
    'holdfast audit --message 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11',
    'holdfast audit --by ann@ops-1 --verb discard --json',
    'holdfast audit verify',
  ],
  run: async (invocation) => {
    const { io, args, options, output } = invocation;
    // There is one verb: any other word is refused.
    if (args[0] !== undefined) {
      subVerb('audit', VERBS, args[0]);
      return verify(invocation);
    }
    // It says who does something, and here nothing is done: passed over in silence, the list would look like the answer.
    if (options.has('actor'))
      throw usageError(`--actor says who does something; write --by ${options.text('actor')} to see what was done`);
    const filter = {
      since: sinceOf(options.text('since'), io.effects.now().wallMs),
      messageId: messageOf(options.text('message')),
      actor: options.text('by'),
      verb: verbOf(options.text('verb')),
      handler: options.text('handler'),
      limit: options.count('limit') ?? LIMIT,
      cursor: options.text('cursor'),
    };
    const page = await (await openOperator(invocation)).audit(filter);
    output.answer(page, () => {
      if (page.items.length === 0) output.line(nothing(invocation));
      else show(invocation, page.items);
      if (page.next !== undefined) output.line(`\nMore: add --cursor ${page.next}, or a larger --limit.`);
    });
    return EXIT.ok;
  },
};

const BROKEN: Readonly<Record<AuditProblem, (place: number, id: number | undefined) => string>> = {
  changed: (place, id) => `record ${id} (place ${place}) is not what was written, or not in its place`,
  deleted: (place, id) => `record ${id} (place ${place}) was deleted`,
  inserted: (_, id) => `record ${id} was inserted past the chain`,
  'link-missing': (place) => `the record at place ${place} was deleted with its link`,
  'cut-off': (place) => `everything from place ${place} on was deleted: the anchor is behind it`,
  rewritten: (place) => `the chain was written anew: place ${place} has another hash than the anchor`,
};

/** Exit code 1 where it is broken. */
async function verify(invocation: Invocation): Promise<number> {
  const { options, output } = invocation;
  const verified = await (await openOperator(invocation)).verifyAudit(anchorOf(options.text('anchor')));
  output.answer(verified, () => output.line(verifiedText(verified)));
  return verified.kind === 'whole' ? EXIT.ok : EXIT.failed;
}

function verifiedText(verified: AuditVerified): string {
  if (verified.kind === 'broken') {
    const what = BROKEN[verified.problem](verified.place, verified.id);
    return `The audit is broken: ${what}. ${counted(verified.checked, 'record')} before it are whole.`;
  }
  if (verified.place === 0) return 'The audit is empty.';
  return `The audit is whole: ${counted(verified.place, 'record')}. Keep this elsewhere, for --anchor:\n${verified.place}:${verified.hash}`;
}

function anchorOf(text: string | undefined): AuditAnchor | undefined {
  if (text === undefined) return undefined;
  const [, place, hash = ''] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (place === undefined) throw usageError('--anchor is no anchor; write what holdfast audit verify said, place:hash');
  return { place: Number(place), hash };
}

function messageOf(text: string | undefined): string | undefined {
  const id = text === undefined ? undefined : parseDeliveryId(text);
  if (id && isBadId(id)) throw usageError(`--message is ${JSON.stringify(text)}; ${id.problem}`);
  return text;
}

function verbOf(text: string | undefined): AuditVerb | undefined {
  if (text === undefined) return undefined;
  const verb = AUDIT_VERBS.find((one) => one === text);
  if (verb === undefined) throw usageError(`--verb is ${JSON.stringify(text)}; write ${AUDIT_VERBS.join(', ')}`);
  return verb;
}

function nothing({ options }: Invocation): string {
  const filters = FILTERS.filter((name) => options.has(name)).map((name) => `--${name}`);
  if (options.has('cursor')) return 'Nothing more.';
  if (filters.length > 0) return `Nothing in the audit fits ${filters.join(', ')}. holdfast audit shows all of it.`;
  return 'Nothing was changed by hand. A replay, discard, edit, cancel, pause or retire will stand here.';
}

function show({ io, output }: Invocation, items: readonly AuditRecord[]): void {
  if (io.width < TABLE_WIDTH) {
    output.fields(items.map((one) => [whenOf(one), narrow(one)]));
    return;
  }
  output.table(items, [
    { title: 'WHEN (UTC)', value: whenOf },
    { title: 'WHO', value: (one) => one.actor, shrinkTo: 8 },
    { title: 'DID', value: didOf, shrinkTo: 8 },
    { title: 'HANDLER', value: handlerOf, shrinkTo: 12 },
    { title: 'MESSAGE', value: (one) => one.messageId },
    { title: 'WHY', value: (one) => one.reason, shrinkTo: 8 },
  ]);
}

/** On two lines: in a table the ids, which people copy, and the reasons would be what is cut. */
function narrow(one: AuditRecord): string {
  const lines = [
    [one.actor, didOf(one), handlerOf(one)],
    [one.messageId, one.reason],
  ];
  return lines
    .map((parts) => parts.filter((part) => part !== undefined).join('  '))
    .filter((line) => line !== '')
    .join('\n');
}

function whenOf({ at }: AuditRecord): string {
  return at.toISOString().slice(0, 19).replace('T', ' ');
}

function handlerOf({ service, handler }: AuditRecord): string | undefined {
  return handler && `${service ?? ''}/${handler}`;
}

/** The verb, and what of its details says what it came to. */
function didOf({ verb, details }: AuditRecord): string {
  const { version, generation, discarded } = details;
  if (typeof version === 'number') return `${verb} to version ${version}`;
  if (typeof generation === 'number') return `${verb} into generation ${generation}`;
  if (typeof discarded === 'number') return `${verb}, ${counted(discarded, 'delivery', 'deliveries')} given up`;
  return verb;
}
