import { type ApiTokenRecord, type ApiTokens, type Scope, SCOPES } from '../../delivery/secrets.ts';
import { DEFAULT_TENANT } from '../../delivery/tenants.ts';
import { postgresDelivery } from '../../postgres/delivery/postgres-delivery.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { formatAge } from '../duration.ts';
import { byWhom } from '../open-operator.ts';
import { subVerb } from '../page-options.ts';

const VERBS = ['create', 'list', 'revoke'] as const;

/** `holdfast token`: who may publish, and more. */
export const token: Command = {
  name: 'token',
  summary: 'Make, list and revoke the tokens of the delivery API.',
  args: { usage: '[create <name>|list|revoke <id>]', min: 0, max: 2 },
  verbs: VERBS,
  options: {
    scope: {
      value: '<scope>',
      summary: 'with create: publish, operate (also reads, cancels, pauses, replays) or admin (also signing keys)',
      default: 'publish',
    },
    tenant: {
      value: '<name>',
      summary: 'with create: whose messages, queues and keys it leads to; no other tenant sees them',
      default: 'default',
    },
  },
  details: [
    'A token is shown once, when it is made; only its hash is kept. Clients send it as QSTASH_TOKEN. One that is revoked',
    'works for up to 5 seconds more in servers that have seen it.',
  ],
  examples: [
    'holdfast token create shop',
    'holdfast token create ops --scope operate',
    'holdfast token create acme-app --tenant acme',
    'holdfast token list',
  ],
  run: async (invocation) => {
    const [word = 'list', what] = invocation.args;
    const verb = subVerb('token', VERBS, word);
    const { driver, schema } = await invocation.database();
    const { tokens } = postgresDelivery({ pool: driver.pool, schema });
    if (verb === 'create') await create(invocation, tokens, what);
    else if (verb === 'revoke') await revoke(invocation, tokens, what);
    else await list(invocation, tokens);
    return EXIT.ok;
  },
};

async function create(invocation: Invocation, tokens: ApiTokens, name: string | undefined): Promise<void> {
  const { options, output } = invocation;
  if (name === undefined || name.trim() === '' || name.length > 200) {
    throw usageError('name whose it is: holdfast token create <name>');
  }
  const text = options.text('scope') ?? 'publish';
  const scope: Scope | undefined = SCOPES.find((one) => one === text);
  if (scope === undefined) throw usageError(`--scope is ${JSON.stringify(text)}; write ${SCOPES.join(', ')}`);
  const tenant = options.text('tenant') ?? DEFAULT_TENANT;
  const made = await tokens.create(name, [scope], { tenant, by: byWhom(invocation) });
  output.answer({ ...made, name, scopes: [scope], tenant }, () => {
    output.line(made.token);
    output.line(`\nThis is the only time it is shown. ${name} may ${ALLOWED[scope]}.`);
  });
}

const ALLOWED: Readonly<Record<Scope, string>> = {
  publish: 'publish, and look at messages by their id',
  operate: 'publish, read, cancel, pause and replay',
  admin: 'do everything, and read and rotate the signing keys',
};

async function list({ io, output }: Invocation, tokens: ApiTokens): Promise<void> {
  const items = await tokens.list();
  const nowMs = io.effects.now().wallMs;
  output.answer({ items }, () => {
    if (items.length === 0) output.line('There is no token. holdfast token create <name> makes one.');
    else {
      output.table<ApiTokenRecord>(items, [
        { title: 'ID', value: ({ id }) => id },
        { title: 'NAME', value: ({ name }) => name, shrinkTo: 8 },
        { title: 'TENANT', value: ({ tenant }) => tenant, shrinkTo: 8 },
        { title: 'SCOPE', value: ({ scopes }) => scopes.join(', ') },
        { title: 'MADE', value: ({ createdAt }) => formatAge(createdAt.getTime(), nowMs) },
        { title: 'USED', value: ({ lastUsedAt }) => (lastUsedAt ? formatAge(lastUsedAt.getTime(), nowMs) : 'never') },
      ]);
    }
  });
}

async function revoke(invocation: Invocation, tokens: ApiTokens, id: string | undefined): Promise<void> {
  if (id === undefined) throw usageError('name the id: holdfast token revoke <id>; holdfast token list shows them');
  const { output } = invocation;
  const known = (await tokens.list()).find((one) => one.id === id);
  if (known === undefined) throw new CliError(`there is no token ${id}; holdfast token list shows all`);
  if (!(await confirm(invocation, `Revoke the token of ${known.name}?`, 'refuse'))) {
    throw new CliError('nothing was changed');
  }
  const isRevoked = await tokens.revoke(id, byWhom(invocation));
  output.answer({ id, name: known.name, isRevoked }, () =>
    output.line(`The token of ${known.name} lets nobody in any more.`),
  );
}
