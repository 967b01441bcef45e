import { checkTenant, DEFAULT_TENANT } from '../../delivery/tenants.ts';
import { postgresDelivery } from '../../postgres/delivery/postgres-delivery.ts';
import { CliError, EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { secretOf } from '../deliver-here.ts';
import { byWhom } from '../open-operator.ts';
import { subVerb } from '../page-options.ts';

const VERBS = ['show', 'rotate'] as const;

interface KeyPair {
  readonly current: string;
  readonly next: string;
}

/** `holdfast signing-keys`: what deliveries are signed by. */
export const signingKeys: Command = {
  name: 'signing-keys',
  summary: 'Show or rotate the keys that deliveries are signed by.',
  args: { usage: '[show|rotate]', min: 0, max: 1 },
  verbs: VERBS,
  options: {
    reveal: { summary: 'write the keys out; whoever has them can sign as this server does' },
    tenant: { value: '<name>', summary: 'whose keys: each tenant has a pair of its own', default: 'default' },
  },
  details: [
    'Receivers need both, as QSTASH_CURRENT_SIGNING_KEY and QSTASH_NEXT_SIGNING_KEY. rotate: the next becomes the current',
    'one and a new one is next, so give receivers the new pair before you rotate again. Needs HOLDFAST_SECRET.',
  ],
  examples: ['holdfast signing-keys show', 'holdfast signing-keys show --reveal', 'holdfast signing-keys rotate'],
  run: async (invocation) => {
    const { args, io } = invocation;
    const verb = subVerb('signing-keys', VERBS, args[0] ?? 'show');
    const secret = secretOf(io);
    const { driver, schema } = await invocation.database();
    const keys = postgresDelivery({ pool: driver.pool, schema, secret }).signingKeys;
    const tenant = invocation.options.text('tenant') ?? DEFAULT_TENANT;
    checkTenant('signing-keys', tenant);
    const by = byWhom(invocation);
    if (verb === 'rotate') {
      // Whoever rotates twice in a row shuts out all receivers that have the first pair.
      if (!(await confirm(invocation, 'Make the next signing key the current one, and a new one next?', 'refuse'))) {
        throw new CliError('nothing was changed');
      }
      answer(invocation, await keys.rotate(tenant, by), 'Rotated. Give receivers this pair:');
    } else answer(invocation, await keys.get(tenant, by));
    return EXIT.ok;
  },
};

function answer({ options, output }: Invocation, { current, next }: KeyPair, title?: string): void {
  const isRevealed = options.flag('reveal');
  const shown = (key: string): string => (isRevealed ? key : `${key.slice(0, 8)}…`);
  output.answer({ current: shown(current), next: shown(next), isRevealed }, () => {
    if (title !== undefined) output.line(title);
    output.line(`QSTASH_CURRENT_SIGNING_KEY=${shown(current)}`);
    output.line(`QSTASH_NEXT_SIGNING_KEY=${shown(next)}`);
    if (!isRevealed) output.line('\nAdd --reveal to see the whole of them.');
  });
}
