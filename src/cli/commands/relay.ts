import { createSleep } from '../../kernel/sleep.ts';
import { DEFAULT_DRAIN_MS } from '../../relay/relay.ts';
import { EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatDuration, writeDuration } from '../duration.ts';
import { loadConfig } from '../load-config.ts';
import { describeTally, RelayPrinter } from '../relay-printer.ts';

const TALLY_MS = 10_000;

/** `holdfast relay`: runs the handlers of a service as a process of its own. */
export const relay: Command = {
  name: 'relay',
  summary: 'Run the handlers of a service in a process of its own.',
  options: {
    config: {
      value: '<file>',
      summary: 'the module that exports what holdfast() gives',
      default: 'holdfast.config.ts or .js',
    },
    once: { summary: 'handle all that is ready, then end; for cron' },
    handlers: { value: '<a,b>', summary: 'only these', multiple: true, default: 'all that it registers' },
    drain: {
      value: '<time>',
      summary: 'how long what runs may take to end after a signal',
      default: writeDuration(DEFAULT_DRAIN_MS),
    },
    verbose: { summary: 'a line for each message, not for failures alone' },
  },
  details: [
    'The module has the database, so --url and --schema do nothing here. It may export startOptions, what hf.start() takes',
    '(observers, traces, times), and afterStop, a function that is awaited at the end. SIGTERM or Ctrl-C lets what runs end',
    'and gives the rest to other workers; a second one ends at once. With --json each line is a JSON document.',
  ],
  examples: ['holdfast relay', 'holdfast relay --once --config ./outbox.config.js'],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const drainMs = options.durationMs('drain') ?? DEFAULT_DRAIN_MS;
    const handlers = options.list('handlers');
    const { service, startOptions, afterStop } = await loadConfig(io.cwd, options.text('config'));
    const printer = new RelayPrinter(io, output, options.flag('verbose'));
    const signals = listenToSignals(invocation, printer, drainMs);
    try {
      const running = await service.start({
        name: io.processName,
        ...startOptions,
        observers: [printer.observe, ...(startOptions.observers ?? [])],
        ...(handlers.length > 0 && { handlers }),
      });
      printer.say('started', `relay of ${service.service} started as worker ${running.workerId}`, {
        service: service.service,
        workerId: running.workerId,
      });
      if (options.flag('once')) await Promise.race([running.whenIdle(), signals.heard]);
      else await runUntil(invocation, printer, signals.signal);
      await running.stop({ drainMs });
      await afterStop();
      sayEnd(printer, options.flag('once') && !signals.signal.aborted);
    } finally {
      signals.forget();
    }
    return EXIT.ok;
  },
};

function sayEnd(printer: RelayPrinter, isDrained: boolean): void {
  const { tally } = printer;
  const left = isDrained && tally.retries > 0 ? '; what waits for a retry is left for the next run' : '';
  printer.say('ended', `${isDrained ? 'drained' : 'stopped'}: ${describeTally(tally)}${left}`, { ...tally, isDrained });
}

/** Says now and then how much was done, until the signal is aborted. */
async function runUntil({ io }: Invocation, printer: RelayPrinter, signal: AbortSignal): Promise<void> {
  const sleep = createSleep(io.effects);
  while (!signal.aborted) {
    await sleep(TALLY_MS, signal).catch(() => undefined);
    if (!signal.aborted) printer.sayTally();
  }
}

interface Signals {
  readonly signal: AbortSignal;
  readonly heard: Promise<void>;
  forget(): void;
}

/** The first signal asks for the end, the second does not wait for it. */
function listenToSignals({ io }: Invocation, printer: RelayPrinter, drainMs: number): Signals {
  const stop = new AbortController();
  const heard = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const forget = io.onSignal((name) => {
    // 128 and the number of the signal, as a shell would say it.
    if (stop.signal.aborted) io.exit(name === 'SIGINT' ? 130 : 143);
    const wait = `what runs has ${formatDuration(drainMs)} to end; once more ends at once`;
    printer.say('stopping', `${name}: stopping, ${wait}`, { signal: name, drainMs });
    stop.abort();
  });
  return { signal: stop.signal, heard, forget };
}
