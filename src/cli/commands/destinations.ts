import type { DestinationRecord } from '../../delivery/destinations.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { formatAge } from '../duration.ts';
import { openDeliveries } from '../open-deliveries.ts';
import { byWhom } from '../open-operator.ts';
import { subVerb } from '../page-options.ts';

const VERBS = ['list', 'open', 'close'] as const;

/** `holdfast destinations`: where deliveries go. */
export const destinations: Command = {
  name: 'destinations',
  summary: 'List where HTTP deliveries go, those that are held up first; open or close the breaker of one.',
  args: { usage: '[list|open <destination>|close <destination>]', min: 0, max: 2 },
  verbs: VERBS,
  options: { reason: { value: '<text>', summary: 'why, for the audit' } },
  details: [
    'A destination is scheme, host and port. While its breaker is open nothing is sent there and no attempt is spent; one',
    'message now and then tries whether it answers again. Opened by hand it stays open until it is closed by hand.',
  ],
  examples: [
    'holdfast destinations',
    `holdfast destinations open https://api.example.com --reason 'they asked for a pause'`,
    'holdfast destinations close https://api.example.com',
  ],
  run: async (invocation) => {
    const [word = 'list', destination] = invocation.args;
    const verb = subVerb('destinations', VERBS, word);
    if (verb === 'list') await list(invocation);
    else await change(invocation, verb, destination);
    return EXIT.ok;
  },
};

async function list(invocation: Invocation): Promise<void> {
  const { io, output } = invocation;
  const items = await (await openDeliveries(invocation)).destinations.list();
  const nowMs = io.effects.now().wallMs;
  const paints = { open: output.paint.red, probing: output.paint.yellow, closed: output.paint.green };
  output.answer({ items }, () => {
    if (items.length === 0) output.line('Nothing was delivered anywhere yet.');
    else
      output.table<DestinationRecord>(items, [
        { title: 'DESTINATION', value: (one) => one.destination, shrinkTo: 16 },
        {
          title: 'BREAKER',
          value: ({ breaker, isHeld }) => (isHeld ? `${breaker}, held` : breaker),
          paint: (text, one) => paints[one.breaker](text),
        },
        { title: 'NEXT TRY', value: (one) => one.probeAt && formatAge(one.probeAt.getTime(), nowMs) },
        { title: 'WAITING', value: (one) => one.waiting, align: 'right' },
        { title: 'LAST', value: (one) => one.lastAttemptAt && formatAge(one.lastAttemptAt.getTime(), nowMs) },
        { title: 'STATUS', value: (one) => one.lastStatus, align: 'right' },
        { title: 'ERROR', value: (one) => one.lastError, shrinkTo: 12 },
      ]);
  });
}

async function change(invocation: Invocation, verb: 'open' | 'close', given: string | undefined): Promise<void> {
  const { output } = invocation;
  const destination = given !== undefined && /^https?:/.test(given) && URL.canParse(given) ? new URL(given).origin : '';
  if (destination === '') throw usageError(`name it: holdfast destinations ${verb} https://api.example.com`);
  const { destinations: all } = await openDeliveries(invocation);
  const by = byWhom(invocation);
  if (verb === 'open') {
    if (!(await confirm(invocation, `Send nothing more to ${destination}?`, 'go-on')))
      throw new CliError('nothing was changed');
    await all.open(destination, by);
  } else if (!(await all.close(destination, by))) {
    throw new CliError(`the breaker of ${destination} is closed already; holdfast destinations shows all`);
  }
  const breaker = verb === 'open' ? 'open' : 'closed';
  output.answer({ destination, breaker }, () =>
    output.line(
      verb === 'open'
        ? `Nothing is sent to ${destination}. holdfast destinations close ${destination} goes on.`
        : `Deliveries to ${destination} go on.`,
    ),
  );
}
