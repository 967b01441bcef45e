import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { addressesOf, BROKER_KINDS, type BrokerKind, type BrokerWay } from '../chaos/broker-way.ts';
import { FAULT_NAMES, type FaultGround, type FaultName, missingFor, usualFaults } from '../chaos/fault-names.ts';
import { databasePlace } from '../chaos/database-place.ts';
import { type FrontSettings, prefixOf, type WorkloadName, type WorkloadSettings } from '../chaos/settings.ts';
import { CONSUMER_SERVICE, DRILL_SERVICE } from '../chaos/step.ts';
import { nearest } from '../kernel/check-options.ts';
import { isLocalHost } from '../server/peer.ts';
import { CliError, usageError } from './cli-error.ts';
import type { Invocation, OptionSpec } from './command.ts';
import { HoldfastError } from '../kernel/error.ts';
import { databaseTarget } from './database-target.ts';
import { findPackage } from './import-package.ts';
import type { OptionValues } from './option-values.ts';

/** Options of the built-in drills. */
export const WORKLOAD_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  via: {
    value: '<way>',
    summary: `how messages go: local (load: http), ${BROKER_KINDS.join(', ')}`,
    default: 'local, load http',
  },
  broker: { value: '<url>', summary: 'the broker, with --via: redis://…, amqp://…, nats://…, or host:port of Kafka' },
  redis: {
    value: '<url>',
    summary: 'the Redis that stores replies first, for load',
    default: 'one is started: redis-server',
  },
  messages: { value: '<count>', summary: 'how many to send', default: '2000, load 10000' },
  keys: { value: '<count>', summary: 'over how many keys', default: '100' },
  workers: { value: '<count>', summary: 'worker processes', default: '3' },
  for: { value: '<time>', summary: 'how long a soak goes on', default: '30m' },
  fault: { value: '<name>', summary: 'inject this one alone; may be given several times', multiple: true },
  rounds: { value: '<count>', summary: 'how often each fault is injected', default: '1, load 5' },
  seed: { value: '<number>', summary: 'the same seed makes the same plan', default: 'any' },
  report: { value: '<file>', summary: 'write the ledger as a page of HTML' },
  'allow-remote': { value: '<host>', summary: 'may break connections to this host too', multiple: true },
  keep: { summary: 'leave the schema and topics of the drill there' },
};

const MESSAGES: Readonly<Record<WorkloadName, number>> = { chaos: 2_000, load: 10_000, soak: 2_000 };
const ROUNDS: Readonly<Record<WorkloadName, number>> = { chaos: 1, load: 5, soak: 1 };
const FOR_MS = 1_800_000;
const WAIT_MS = 30_000;
/** A group of Kafka that lost a member without a word reads on after three quarters of a minute. */
const BROKER_WAIT_MS = 60_000;
const MOST_SEED = 2_147_483_648;
const FORMS: Readonly<Record<BrokerKind, RegExp>> = {
  redis: /^rediss?:\/\//,
  rabbitmq: /^amqps?:\/\//,
  kafka: /^[^/\s]+:\d+/,
  nats: /^(?:nats|tls):\/\//,
};
const EXAMPLES: Readonly<Record<BrokerKind, string>> = {
  redis: 'redis://127.0.0.1:6379',
  rabbitmq: 'amqp://127.0.0.1:5672',
  kafka: '127.0.0.1:9092',
  nats: 'nats://127.0.0.1:4222',
};

/** Reads what a built-in drill is to do. Refuses what cannot be, and what could do harm. */
export function workloadSettings({ io, options, version }: Invocation, name: WorkloadName): WorkloadSettings {
  const { cwd, effects } = io;
  // Only where it is named: what stands in the environment is the database of an application.
  const target = options.has('url') ? databaseTarget(options.text('url'), io) : undefined;
  if (target?.kind === 'mongodb') throw new HoldfastError('NOT_ON_MONGODB', { of: 'holdfast drill' });
  const url = target?.url;
  const id = randomBytes(4).toString('hex');
  const broker = brokerOf(options, name, id, cwd);
  const allowed = new Set(options.list('allow-remote'));
  const demandAllowed = (address: string): void => demand(address, allowed);
  if (url !== undefined) demandAllowed(databasePlace(url)[0]);
  if (broker) for (const address of addressesOf(broker)) demandAllowed(address);
  const front = frontOf(options, name, cwd);
  if (front?.redis) for (const address of addressesOf({ kind: 'redis', url: front.redis.url })) demandAllowed(address);
  const pg = findPackage('pg', cwd);
  if (pg === undefined) throw new CliError('a drill needs the PostgreSQL client pg; run npm install pg');
  if (options.has('for') && name !== 'soak') throw usageError(`--for is for soak; ${name} takes --messages`);
  if (options.has('messages') && name === 'soak') throw usageError('--messages is not for soak; it takes --for');
  return {
    name,
    url,
    pg,
    broker,
    front,
    id,
    messages: options.count('messages') ?? MESSAGES[name],
    keys: options.count('keys') ?? 100,
    workers: options.count('workers', 2) ?? 3,
    forMs: name === 'soak' ? (options.durationMs('for') ?? FOR_MS) : 0,
    rounds: options.count('rounds') ?? ROUNDS[name],
    faults: faultsOf(options.list('fault'), name, {
      hasBroker: broker !== undefined,
      hasOwnServer: url === undefined,
      hasFront: front !== undefined,
      hasOwnRedis: front !== undefined && front.redis === undefined,
    }),
    seed: options.count('seed', 0) ?? Math.floor(effects.random() * MOST_SEED),
    waitMs: options.durationMs('wait') ?? (broker ? BROKER_WAIT_MS : WAIT_MS),
    demandAllowed,
    keep: options.flag('keep'),
    cwd,
    version,
  };
}

function demand(address: string, allowed: ReadonlySet<string>): void {
  const host = address.replace(/:\d+$/, '');
  const bare = host.replace(/^\[|\]$/g, '');
  if (host.startsWith('/') || isLocalHost(bare.includes(':') ? `[${bare}]` : bare) || allowed.has(bare)) return;
  throw usageError(
    `${bare} is not this machine, and a drill breaks connections and fills tables there; pass --allow-remote ${bare} if that is meant`,
  );
}

/** Where messages stay in the database: `local`, and `http` for the drill whose writes come over HTTP. */
function hereOf(name: WorkloadName): 'local' | 'http' {
  return name === 'load' ? 'http' : 'local';
}

/** Only load writes over HTTP. */
function frontOf(options: OptionValues, name: WorkloadName, cwd: string): FrontSettings | undefined {
  const url = options.text('redis');
  if (name !== 'load') {
    if (url !== undefined) throw usageError(`--redis is for load; ${name} does not write over HTTP`);
    return undefined;
  }
  // The text is not shown: it may hold a password.
  if (url !== undefined && !(FORMS.redis.test(url) && URL.canParse(url)))
    throw usageError(`--redis is no address of Redis; write for example --redis ${EXAMPLES.redis}`);
  const ioredis = findPackage('ioredis', cwd);
  if (ioredis === undefined) throw new CliError('load needs ioredis; run npm install ioredis');
  if (url === undefined && !isOnPath('redis-server'))
    throw new CliError('load needs a Redis; pass --redis <url>, or install redis-server, which the drill then starts');
  return { redis: url === undefined ? undefined : { url, ioredis }, ioredis };
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
}

function brokerOf(options: OptionValues, name: WorkloadName, id: string, cwd: string): BrokerWay | undefined {
  const here = hereOf(name);
  const via = options.text('via') ?? here;
  const url = options.text('broker');
  const kind = BROKER_KINDS.find((one) => one === via);
  if (kind === undefined) {
    if (via !== here) throw usageError(`--via is ${JSON.stringify(via)}; write ${here}, ${BROKER_KINDS.join(', ')}`);
    if (url !== undefined) throw usageError('--broker needs --via: say which kind of broker it is');
    return undefined;
  }
  const example = `--broker ${EXAMPLES[kind]}`;
  if (url === undefined) throw usageError(`--via ${kind} needs the broker; write for example ${example}`);
  // The text is not shown: it may hold a password.
  if (!FORMS[kind].test(url) || (kind !== 'kafka' && !URL.canParse(url)))
    throw usageError(`--broker is no address of ${kind}; write for example ${example}`);
  const ioredis = kind === 'redis' ? findPackage('ioredis', cwd) : undefined;
  if (kind === 'redis' && ioredis === undefined)
    throw new CliError('--via redis needs ioredis; run npm install ioredis');
  const consumer = name === 'load' ? CONSUMER_SERVICE : DRILL_SERVICE;
  return { kind, url, prefix: prefixOf(id), consumer, ioredis };
}

function faultsOf(chosen: readonly string[], name: WorkloadName, ground: FaultGround): readonly FaultName[] {
  if (chosen.length === 0) return usualFaults(name, ground);
  return [...new Set(chosen)].map((given) => {
    const fault = FAULT_NAMES.find((one) => one === given);
    if (fault === undefined) {
      const near = nearest(given, FAULT_NAMES);
      const advice = near === undefined ? `there are ${FAULT_NAMES.join(', ')}` : `did you mean ${near}?`;
      throw usageError(`there is no fault ${JSON.stringify(given)}; ${advice}`);
    }
    const missing = missingFor(fault, ground);
    if (missing !== undefined) throw usageError(`--fault ${fault} cannot be injected here: ${missing}`);
    return fault;
  });
}
