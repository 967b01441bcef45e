import type { Erasure, ErasureCounts, ErasureSubject } from '../../operator/erasure.ts';
import { payloadPath, payloadValue } from '../../operator/message-query.ts';
import type { PayloadMatch } from '../../operator/operator.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { formatAge } from '../duration.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { progressOn } from '../progress.ts';

const CANNOT =
  'Not reached: copies at brokers, backups, other databases, Redis and logs. Rows of the audit stay; they name no payload.';

/** `holdfast erase`: forgets what is known of somebody. */
export const erase: Command = {
  name: 'erase',
  summary: 'Erase what is known of a person, in messages, dead letters, histories, facts and kept answers.',
  options: {
    person: { value: '<id>', summary: 'as events and send() were told it' },
    payload: { value: '<path=value>', summary: 'all messages with this value, e.g. customer.id=42', multiple: true },
    open: { summary: 'also what is not done yet: it is given up and never handled' },
    service: { value: '<name>', summary: 'also its idempotency records, if it has no handlers here', multiple: true },
    reason: { value: '<text>', summary: 'why, for the audit; must be given to erase' },
    'dry-run': { summary: 'only count' },
  },
  details: [
    'It counts first, and asks. Done in batches: what was interrupted goes on when it is called again with the same words.',
    'What is left of a message is that it was there and how it ended. Without --person or --payload: lists erasures.',
  ],
  examples: [
    'holdfast erase --person usr_1 --dry-run',
    `holdfast erase --person usr_1 --reason 'request of 3 May' --yes`,
    `holdfast erase --payload customer.email=ann@example.org --reason 'request of 3 May' --yes`,
  ],
  run: async (invocation) => {
    const { options, output } = invocation;
    const subject = subjectOf(invocation);
    const operator = await openOperator(invocation);
    if (subject === undefined) {
      const erasures = await operator.erasures();
      output.answer({ erasures }, () => show(invocation, erasures));
      return EXIT.ok;
    }
    const isDry = options.flag('dry-run');
    const reason = isDry ? '' : options.required('reason', `'request of 3 May'`);
    const asked = { open: options.flag('open'), services: options.list('service') };
    const found = await operator.previewErase(subject, asked);
    if (isDry) {
      output.answer({ dryRun: true, found }, () => output.line(`Would erase ${counts(found)}.\n${CANNOT}`));
      return EXIT.ok;
    }
    if (!(await confirm(invocation, `Erase ${counts(found)}, for ever?`, 'refuse')))
      throw new CliError('nothing was changed');
    const progress = progressOn(invocation.io, output);
    let erasure: Erasure;
    do {
      ({ erasure } = await operator.erase(subject, { ...byWhom(invocation), reason }, asked));
      progress.show(`erased ${erasure.counts.messages} messages`);
    } while (erasure.state === 'running');
    progress.end();
    output.answer({ dryRun: false, erasure }, () => output.line(doneText(erasure)));
    return erasure.counts.open > 0 && !asked.open ? EXIT.failed : EXIT.ok;
  },
};

function subjectOf({ options }: Invocation): ErasureSubject | undefined {
  const person = options.text('person');
  const values = options.list('payload');
  if (person !== undefined && values.length > 0) throw usageError('write --person or --payload, not both');
  if (person !== undefined) return { person };
  return values.length === 0 ? undefined : { payload: values.map(matchOf) };
}

/** `customer.id=42`; in quotes it is text. */
function matchOf(text: string): PayloadMatch {
  const at = text.indexOf('=');
  const path = at < 0 ? undefined : payloadPath(text.slice(0, at));
  if (path === undefined)
    throw usageError(`--payload is ${JSON.stringify(text)}; write path=value, e.g. customer.id=42`);
  const value = text.slice(at + 1);
  return { path, value: /^".*"$/.test(value) ? value.slice(1, -1) : payloadValue(value) };
}

function counts({ messages, open, commands, facts, idempotencyRecords }: ErasureCounts): string {
  const parts = [
    `${counted(messages, 'message')}${open > 0 ? ` (${open} not done yet)` : ''}`,
    counted(commands, 'command'),
    counted(facts, 'fact'),
    counted(idempotencyRecords, 'idempotency record'),
  ];
  return parts.join(', ');
}

function doneText({ counts: done, mark }: Erasure): string {
  const left =
    done.open === 0
      ? ''
      : `\n${counted(done.open, 'message')} not done yet: left. Call it again later, or with --open.`;
  return `Erased ${counts({ ...done, open: 0 })}. It stands in the audit under the mark ${mark}.${left}\n${CANNOT}`;
}

function show({ io, output }: Invocation, erasures: readonly Erasure[]): void {
  if (erasures.length === 0) {
    output.line('Nothing was erased yet.');
    return;
  }
  const nowMs = io.effects.now().wallMs;
  output.table(erasures, [
    { title: 'BEGUN', value: (one) => formatAge(one.createdAt.getTime(), nowMs) },
    { title: 'STATE', value: (one) => one.state },
    { title: 'BY', value: (one) => one.by },
    { title: 'MARK', value: (one) => one.mark },
    { title: 'MESSAGES', value: (one) => one.counts.messages, align: 'right' },
    { title: 'LEFT', value: (one) => one.counts.open, align: 'right' },
    { title: 'WHO', value: (one) => one.actor, shrinkTo: 8 },
    { title: 'WHY', value: (one) => one.reason, shrinkTo: 8 },
  ]);
}
