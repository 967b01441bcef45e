import { createSleep } from '../../kernel/sleep.ts';
import type { Operator } from '../../operator/operator.ts';
import type { HandlerStats, OperatorStats } from '../../operator/operator-records.ts';
import { EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { counted } from '../counted.ts';
import { formatDuration } from '../duration.ts';
import { openOperator } from '../open-operator.ts';

const INTERVAL_MS = 2_000;

/** `holdfast outbox:stats`: how much there is to do. */
export const outboxStats: Command = {
  name: 'outbox:stats',
  summary: 'How much is pending, waiting, failed and delivered, by handler.',
  options: {
    service: { value: '<name>', summary: 'only handlers of this service' },
    watch: { summary: 'go on until stopped; with --json one line each time' },
    interval: { value: '<time>', summary: 'with --watch: how often', default: '2s' },
    delivered: { summary: 'with --watch: count the history too, which reads all of it' },
  },
  examples: ['holdfast outbox:stats', 'holdfast outbox:stats --service expenses --watch --json'],
  run: async (invocation) => {
    const { options, output } = invocation;
    const operator = await openOperator(invocation);
    if (options.flag('watch')) return watch(invocation, operator);
    const stats = only(await operator.stats({ countDelivered: true }), options.text('service'));
    output.answer(stats, () => show(invocation, stats));
    return EXIT.ok;
  },
};

async function watch(invocation: Invocation, operator: Operator): Promise<number> {
  const { io, options, output } = invocation;
  const intervalMs = options.durationMs('interval') ?? INTERVAL_MS;
  const stop = new AbortController();
  const forget = io.onSignal(() => stop.abort());
  const sleep = createSleep(io.effects);
  try {
    while (!stop.signal.aborted) {
      const stats = only(await operator.stats({ countDelivered: options.flag('delivered') }), options.text('service'));
      output.record(stats, () => {
        // A person sees one picture that changes; a file gets one after the other.
        if (io.isTty) io.out('\u001B[H\u001B[2J');
        show(invocation, stats);
        output.line(io.isTty ? '\nCtrl-C ends this.' : '');
      });
      await sleep(intervalMs, stop.signal).catch(() => undefined);
    }
  } finally {
    forget();
  }
  return EXIT.ok;
}

function only(stats: OperatorStats, service: string | undefined): OperatorStats {
  if (service === undefined) return stats;
  return { ...stats, handlers: stats.handlers.filter((one) => one.service === service) };
}

function show({ output, options }: Invocation, stats: OperatorStats): void {
  const { paint } = output;
  const service = options.text('service');
  if (stats.handlers.length === 0) {
    output.line(
      service === undefined
        ? 'No handler has registered yet.'
        : `The service ${JSON.stringify(service)} has no handlers. holdfast handlers lists all of them.`,
    );
  } else {
    const isCounted = stats.handlers.some((one) => one.delivered !== undefined);
    output.table(stats.handlers, [
      { title: 'HANDLER', value: (one) => `${one.service}/${one.handler}`, shrinkTo: 12 },
      { title: 'PENDING', value: (one) => one.pending, align: 'right' },
      {
        title: 'OLDEST',
        value: (one) => (one.oldestMs === undefined ? undefined : formatDuration(one.oldestMs)),
        align: 'right',
      },
      { title: 'WAITING', value: (one) => one.waiting, align: 'right' },
      { title: 'FAILED', value: (one) => one.failed, align: 'right', paint: redIf((one) => one.failed > 0) },
      { title: 'HELD KEYS', value: (one) => one.heldKeys, align: 'right' },
      ...(isCounted
        ? [{ title: 'DELIVERED', value: (one: HandlerStats) => one.delivered, align: 'right' as const }]
        : []),
      { title: 'WORKERS', value: (one) => one.workers, align: 'right', paint: redIf((one) => one.workers === 0) },
      { title: 'STATE', value: (one) => (one.pausedAt === undefined ? 'on' : 'paused') },
    ]);
  }
  output.line();
  if (stats.workers > 0) output.line(`${counted(stats.workers, 'worker')} ${stats.workers === 1 ? 'lives' : 'live'}.`);
  else output.line(paint.yellow('No worker lives; start a service that calls hf.start(), or holdfast relay.'));
  if (stats.isPaused) output.line(paint.yellow('Everything is paused; holdfast resume goes on.'));
  if (stats.withoutHandler > 0) {
    output.line(
      paint.yellow(
        `${counted(stats.withoutHandler, 'message')} of a type that no handler takes; start a service that does.`,
      ),
    );
  }
  const failed = stats.handlers.reduce((sum, one) => sum + one.failed, 0);
  if (failed > 0) output.line(`${counted(failed, 'dead letter')}; holdfast dlq:list shows them.`);

  function redIf(isBad: (one: HandlerStats) => boolean): (text: string, one: HandlerStats) => string {
    return (text, one) => (isBad(one) ? paint.red(text) : text);
  }
}
