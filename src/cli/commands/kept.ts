import { IDEMPOTENCY_STATUSES } from '../../operator/kept-lists.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { formatAge, formatDuration } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { PAGE_OPTIONS, pageOf, sayMore, wordOf } from '../page-options.ts';
import { paintState } from '../paint.ts';

/** `holdfast idempotency`: records of what is done once. */
export const idempotency: Command = {
  name: 'idempotency',
  summary: 'List idempotency records, the newest first.',
  options: {
    status: { value: '<status>', summary: IDEMPOTENCY_STATUSES.join(', ') },
    domain: { value: '<name>', summary: 'only of this domain' },
    ...PAGE_OPTIONS,
  },
  details: ['The key itself is not kept, only its hash: holdfast trace <key> finds what one key did.'],
  examples: ['holdfast idempotency --status unknown'],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const filter = { status: wordOf(options, 'status', IDEMPOTENCY_STATUSES), domain: options.text('domain') };
    const page = await (await openOperator(invocation)).idempotencyRecords({ ...filter, ...pageOf(options) });
    const nowMs = io.effects.now().wallMs;
    output.answer(page, () => {
      if (page.items.length === 0)
        output.line('No idempotency records that fit. once() and the guards of routes make them.');
      else
        output.table(page.items, [
          { title: 'RECORD', value: (one) => one.id },
          { title: 'DOMAIN', value: (one) => one.domain, shrinkTo: 8 },
          {
            title: 'STATUS',
            value: (one) => one.status,
            paint: (text, one) => paintState(output.paint, one.status, text),
          },
          { title: 'RUN', value: (one) => one.run, align: 'right' },
          { title: 'REPLY', value: (one) => (one.hasReply ? 'kept' : 'none') },
          { title: 'CREATED', value: (one) => formatAge(one.createdAt.getTime(), nowMs) },
          { title: 'CHANGED', value: (one) => formatAge(one.updatedAt.getTime(), nowMs) },
          { title: 'FORGOTTEN', value: (one) => formatAge(one.expiresAt.getTime(), nowMs) },
        ]);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};

/** `holdfast commands`: durable commands. */
export const commands: Command = {
  name: 'commands',
  summary: 'List durable commands, the last changed first.',
  options: {
    state: { value: '<state>', summary: 'queued, running, retry_wait, blocked, dlq, done …' },
    name: { value: '<name>', summary: 'only commands of this name' },
    target: { value: '<target>', summary: 'only those sent to this target' },
    ...PAGE_OPTIONS,
  },
  details: ['holdfast run:show <target> shows one run.'],
  examples: ['holdfast commands --state blocked', 'holdfast commands --target run_456'],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const filter = { state: options.text('state'), name: options.text('name'), target: options.text('target') };
    const page = await (await openOperator(invocation)).commands({ ...filter, ...pageOf(options) });
    const nowMs = io.effects.now().wallMs;
    output.answer(page, () => {
      if (page.items.length === 0) output.line('No commands that fit.');
      else
        output.table(page.items, [
          { title: 'COMMAND', value: (one) => one.id },
          { title: 'NAME', value: (one) => `${one.service}/${one.name}`, shrinkTo: 12 },
          { title: 'TARGET', value: (one) => one.target, shrinkTo: 8 },
          { title: 'MODULE', value: (one) => one.module, shrinkTo: 8 },
          {
            title: 'STATE',
            value: (one) => one.state,
            paint: (text, one) => paintState(output.paint, one.state, text),
          },
          { title: 'TRIES', value: (one) => one.attempts, align: 'right' },
          { title: 'SINCE', value: (one) => formatAge(one.updatedAt.getTime(), nowMs) },
          { title: 'ERROR', value: (one) => one.error, shrinkTo: 12 },
        ]);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};

/** `holdfast calls`: outgoing calls, as services recorded them. */
export const calls: Command = {
  name: 'calls',
  summary: 'List outgoing calls that services recorded, the newest first.',
  options: {
    service: { value: '<name>', summary: 'only calls of this service' },
    destination: { value: '<name>', summary: 'only calls to this destination' },
    failed: { summary: 'only those that failed' },
    ok: { summary: 'only those that went well' },
    ...PAGE_OPTIONS,
  },
  details: ['Calls are known only where a factRecorder keeps them: docs/trace.md.'],
  examples: ['holdfast calls --failed', 'holdfast calls --destination bank --json'],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const [failed, ok] = [options.flag('failed'), options.flag('ok')];
    if (failed && ok) throw usageError('--failed and --ok leave nothing; leave one out');
    const page = await (
      await openOperator(invocation)
    ).outgoingCalls({
      service: options.text('service'),
      destination: options.text('destination'),
      ...((failed || ok) && { isOk: ok }),
      ...pageOf(options),
    });
    const nowMs = io.effects.now().wallMs;
    output.answer(page, () => {
      if (page.items.length === 0) output.line('No calls that fit. A factRecorder keeps them: docs/trace.md.');
      else
        output.table(page.items, [
          { title: 'WHEN', value: (one) => formatAge(one.at.getTime(), nowMs) },
          { title: 'SERVICE', value: (one) => one.service, shrinkTo: 8 },
          { title: 'OPERATION', value: (one) => one.operation, shrinkTo: 10 },
          { title: 'TO', value: (one) => one.destination, shrinkTo: 8 },
          {
            title: 'OUTCOME',
            value: (one) => (one.isOk === undefined ? undefined : one.isOk ? 'ok' : 'failed'),
            paint: (text, one) =>
              one.isOk === undefined ? text : one.isOk ? output.paint.green(text) : output.paint.red(text),
          },
          { title: 'STATUS', value: (one) => one.status, align: 'right' },
          {
            title: 'TOOK',
            value: (one) => (one.durationMs === undefined ? undefined : formatDuration(one.durationMs)),
            align: 'right',
          },
          { title: 'TRY', value: (one) => one.attempt, align: 'right' },
          { title: 'ERROR', value: (one) => one.error, shrinkTo: 12 },
        ]);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};
