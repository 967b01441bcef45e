import { MAX_GRACE_HOURS } from '../../delivery/check-endpoint.ts';
import type {
  ChangedBy,
  EndpointOutcome,
  WebhookEndpointInput,
  WebhookEndpointRecord,
} from '../../delivery/webhook-endpoints.ts';
import type { RemoteDeliveries } from '../../server/remote-deliveries.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { formatAge, parseDuration } from '../duration.ts';
import { openDeliveries } from '../open-deliveries.ts';
import { byWhom } from '../open-operator.ts';
import type { OptionValues } from '../option-values.ts';
import { subVerb } from '../page-options.ts';

const VERBS = ['list', 'add', 'secrets', 'rotate', 'enable', 'disable', 'resend', 'recover', 'delete'] as const;

type Verb = (typeof VERBS)[number];
type Endpoints = RemoteDeliveries['endpoints'];

/** `holdfast endpoints`: who is told of events by webhook. */
export const endpoints: Command = {
  name: 'endpoints',
  summary: 'List, add and change registered webhook endpoints; send again what they did not get.',
  args: {
    usage: '[list|add <url>|secrets|rotate|enable|disable|resend|recover|delete <id>] [<message>]',
    min: 0,
    max: 3,
  },
  verbs: VERBS,
  options: {
    types: { value: '<type>', summary: 'with add: only these events, order.* for all below', multiple: true },
    description: { value: '<text>', summary: 'with add: whose it is' },
    header: { value: '<name=value>', summary: 'with add: sent along with each event', multiple: true },
    retry: { value: '<times>', summary: 'with add: the waits before each further try: 5s,5m,2h', multiple: true },
    timeout: { value: '<time>', summary: 'with add: how long an attempt may take' },
    rate: { value: '<n>', summary: 'with add: at most so many a second' },
    secret: { value: '<whsec_…>', summary: 'with add or rotate: this secret, not a new one' },
    grace: {
      value: '<time>',
      summary: `with rotate: how long the old secret signs too, up to ${MAX_GRACE_HOURS}h`,
      default: '24h',
    },
    since: { value: '<time>', summary: 'with recover: what failed within this time (2h), or after a date' },
    reason: { value: '<text>', summary: 'why, for the audit' },
  },
  details: [
    'On a database add, secrets and rotate need HOLDFAST_SECRET: secrets are sealed by it. resend takes the id of a message',
    'too. What waits for an endpoint that is disabled is kept, and goes on when it is enabled.',
  ],
  examples: [
    'holdfast endpoints',
    `holdfast endpoints add https://shop.example/hooks --types 'order.*' --rate 10`,
    'holdfast endpoints rotate ep_01a1e6b27d0e7c529b1f6d6f1c0b7e11 --grace 48h',
    'holdfast endpoints recover ep_01a1e6b27d0e7c529b1f6d6f1c0b7e11 --since 2h',
  ],
  run: async (invocation) => {
    const [word = 'list', ...given] = invocation.args;
    const verb = subVerb('endpoints', VERBS, word);
    const deliveries = await openDeliveries(invocation);
    if (verb === 'list') await list(invocation, deliveries.endpoints);
    else if (verb === 'add') await add(invocation, deliveries.endpoints, given[0]);
    else await change(invocation, deliveries.endpoints, verb, given);
    return EXIT.ok;
  },
};

async function list({ io, output }: Invocation, all: Endpoints): Promise<void> {
  const items = await all.list();
  const nowMs = io.effects.now().wallMs;
  const { green, red, yellow } = output.paint;
  output.answer({ items }, () => {
    if (items.length === 0) output.line('There is no endpoint. holdfast endpoints add <url> makes one.');
    else
      output.table<WebhookEndpointRecord>(items, [
        { title: 'ID', value: ({ id }) => id },
        { title: 'URL', value: ({ url }) => url, shrinkTo: 16 },
        { title: 'EVENTS', value: ({ eventTypes }) => eventTypes.join(', ') || 'all', shrinkTo: 8 },
        {
          title: 'STATE',
          value: stateOf,
          paint: (text, { state, failingSince }) =>
            (state === 'disabled' ? red : failingSince === undefined ? green : yellow)(text),
        },
        { title: 'FAILING', value: ({ failingSince }) => failingSince && formatAge(failingSince.getTime(), nowMs) },
        { title: 'MADE', value: ({ createdAt }) => formatAge(createdAt.getTime(), nowMs) },
        { title: 'DESCRIPTION', value: ({ description }) => description, shrinkTo: 8 },
      ]);
  });
}

const BECAUSE = { operator: 'by hand', gone: 'it answered 410', failing: 'nothing but failures' } as const;

function stateOf({ state, disabledBecause }: WebhookEndpointRecord): string {
  return disabledBecause === undefined ? state : `${state}: ${BECAUSE[disabledBecause]}`;
}

async function add(invocation: Invocation, all: Endpoints, url: string | undefined): Promise<void> {
  if (url === undefined) throw usageError('name the address: holdfast endpoints add https://shop.example/hooks');
  const { output, options } = invocation;
  const endpoint = done(await all.create(inputOf(url, options), byWhom(invocation)));
  const [secret] = (await all.secrets(endpoint.id, byWhom(invocation))) ?? [];
  output.answer({ ...endpoint, secret }, () => {
    output.line(`${endpoint.id} is told of ${endpoint.eventTypes.join(', ') || 'all events'}.`);
    output.line(
      `\n${secret}\n\nGive this secret to whoever receives them; holdfast endpoints secrets ${endpoint.id} shows it again.`,
    );
  });
}

function inputOf(url: string, options: OptionValues): WebhookEndpointInput {
  const retry = options.list('retry');
  return {
    url,
    description: options.text('description'),
    eventTypes: options.list('types'),
    headers: Object.fromEntries(options.list('header').map(headerOf)),
    retrySeconds: retry.length === 0 ? undefined : retry.map(secondsOf),
    timeoutMs: options.durationMs('timeout'),
    ratePerSecond: options.count('rate'),
    secret: options.text('secret'),
  };
}

function headerOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`--header is ${JSON.stringify(text)}; write x-tenant=7`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function secondsOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw usageError(`--retry has ${JSON.stringify(text)}; write times such as 5s,5m,2h`);
  return ms / 1_000;
}

async function change(
  invocation: Invocation,
  all: Endpoints,
  verb: Exclude<Verb, 'list' | 'add'>,
  [id, messageId]: readonly string[],
): Promise<void> {
  const isResend = verb === 'resend';
  if (id === undefined || (isResend && messageId === undefined)) {
    throw usageError(`name it: holdfast endpoints ${verb} <id>${isResend ? ' <message>' : ''}`);
  }
  if (messageId !== undefined && !isResend) throw usageError(`${verb} takes one id`);
  const { output } = invocation;
  const by = byWhom(invocation);
  const say = (answer: object, text: string): void => output.answer(answer, () => output.line(text));
  switch (verb) {
    case 'secrets': {
      const secrets = found(id, await all.secrets(id, byWhom(invocation)));
      return say({ id, secrets }, secrets.join('\n'));
    }
    case 'rotate':
      return rotate(invocation, all, id, by);
    case 'enable':
    case 'disable': {
      const endpoint = done(await all[verb](id, by), id);
      return say(
        endpoint,
        verb === 'enable'
          ? `${id} is enabled; what waited for it goes on.`
          : `${id} is disabled; what waits for it is kept.`,
      );
    }
    case 'resend':
      if (!(await all.resend(id, messageId ?? '', by))) {
        throw new CliError(`${id} has no message ${messageId}; what was delivered is forgotten after a while`);
      }
      return say({ id, messageId }, `${messageId} is sent again, under its id.`);
    case 'recover': {
      const count = found(id, await all.recover(id, sinceOf(invocation), by));
      return say({ id, count }, `${counted(count, 'message', 'messages')} of ${id} will be sent again.`);
    }
    case 'delete': {
      found(id, await all.get(id));
      if (!(await confirm(invocation, `Delete ${id} and cancel what waits for it?`, 'refuse'))) {
        throw new CliError('nothing was changed');
      }
      await all.delete(id, by);
      return say({ id, isDeleted: true }, `${id} is gone.`);
    }
  }
}

async function rotate({ io, options, output }: Invocation, all: Endpoints, id: string, by: ChangedBy): Promise<void> {
  const graceMs = options.durationMs('grace');
  const outcome = await all.rotateSecret(id, by, {
    graceHours: graceMs === undefined ? undefined : graceMs / 3_600_000,
    secret: options.text('secret'),
  });
  if (outcome.kind === 'refused') throw new CliError(outcome.message);
  if (outcome.kind === 'not-found') throw unknown(id);
  const { secret, oldUntil } = outcome;
  const old =
    oldUntil === undefined
      ? 'The one before signs nothing any more.'
      : `The one before signs too, until ${formatAge(oldUntil.getTime(), io.effects.now().wallMs).replace('in ', '')} from now.`;
  output.answer({ id, secret, oldUntil }, () => output.line(`${secret}\n\n${old}`));
}

function sinceOf({ options, io }: Invocation): Date {
  const text = options.required('since', '2h');
  const ms = parseDuration(text);
  const since = ms === undefined ? new Date(text) : new Date(io.effects.now().wallMs - ms);
  if (Number.isNaN(since.getTime()))
    throw usageError(`--since is ${JSON.stringify(text)}; write 2h, or 2026-05-01T08:00Z`);
  return since;
}

function done(outcome: EndpointOutcome, id = ''): WebhookEndpointRecord {
  if (outcome.kind === 'refused') throw new CliError(outcome.message);
  if (outcome.kind === 'not-found') throw unknown(id);
  return outcome.endpoint;
}

function found<T>(id: string, value: T | undefined): T {
  if (value === undefined) throw unknown(id);
  return value;
}

function unknown(id: string): CliError {
  return new CliError(`there is no endpoint ${id}; holdfast endpoints shows all`);
}
