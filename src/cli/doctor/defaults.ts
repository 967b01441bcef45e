import { event, type EventDefinition } from '../../outbox/event.ts';
import { MAX_PAYLOAD_BYTES } from '../../outbox/payload.ts';
import { DEFAULT_LOCK_TIMEOUT_MS } from '../../postgres/migrate.ts';
import { DEFAULT_DEDUP_MS } from '../../postgres/postgres.ts';
import { DEFAULT_SCHEMA } from '../../postgres/schema-name.ts';
import { DEFAULT_DRAIN_MS } from '../../relay/relay.ts';
import { envelope } from '../../retry/envelope.ts';
import { HandlerRegistry } from '../../service/handler-registry.ts';
import { START_DEFAULTS } from '../../service/start-options.ts';
import { formatDuration } from '../duration.ts';

/** A default, where it is set, and what it is. */
export interface Default {
  readonly setting: string;
  readonly value: string;
  readonly set: string;
}

/** Every default that decides how messages are treated. Asked of the code that applies them, so that none is told wrongly. */
export function defaults(): readonly Default[] {
  const registry = new HandlerRegistry<unknown>();
  const events = [event('example') as unknown as EventDefinition<never, unknown>];
  const registration = { events, options: {} };
  registry.add({ ...registration, of: 'on()', name: 'on', run: { kind: 'handle', run: () => undefined } });
  const run = { kind: 'project', run: { of: 'each', run: () => undefined } } as const;
  registry.add({ ...registration, of: 'project()', name: 'project', run });
  const { leaseMs, pollMs, historyMs, inboxMs } = START_DEFAULTS;
  return [
    { setting: 'schema', value: DEFAULT_SCHEMA, set: 'postgres({ schema }), --schema' },
    { setting: 'payload, at most', value: `${MAX_PAYLOAD_BYTES} bytes`, set: 'fixed' },
    { setting: 'idempotency keys kept', value: formatDuration(DEFAULT_DEDUP_MS), set: 'postgres({ dedupMs })' },
    ...handlerDefaults(registry),
    { setting: 'lease of a worker', value: formatDuration(leaseMs), set: 'start({ leaseMs })' },
    {
      setting: 'look for messages',
      value: `when woken, at least each ${formatDuration(pollMs)}`,
      set: 'start({ pollMs })',
    },
    {
      setting: 'time to end at a stop',
      value: formatDuration(DEFAULT_DRAIN_MS),
      set: 'stop({ drainMs }), relay --drain',
    },
    { setting: 'history kept', value: formatDuration(historyMs), set: 'start({ historyMs })' },
    { setting: 'received messages remembered', value: formatDuration(inboxMs), set: 'start({ inboxMs })' },
    { setting: 'open messages, at most', value: 'no limit', set: 'start({ maxPending })' },
    {
      setting: 'migrate waits for a lock',
      value: formatDuration(DEFAULT_LOCK_TIMEOUT_MS),
      set: 'migrate({ lockTimeoutMs }), migrate --lock-timeout',
    },
  ];
}

function handlerDefaults(registry: HandlerRegistry<unknown>): readonly Default[] {
  const [on, project] = [registry.all.get('on'), registry.all.get('project')];
  if (on === undefined || project === undefined) return [];
  const plan = envelope(on.policy);
  const waits = plan.waits.map((wait) => formatDuration(wait.delayMs)).join(', ');
  const set = 'on(…, { policy })';
  return [
    { setting: 'attempts of a handler', value: String(plan.attempts), set },
    { setting: 'waits between them, at most', value: waits, set },
    { setting: 'time of an attempt', value: formatDuration(on.timeoutMs), set: 'on(…, { timeoutMs })' },
    {
      setting: 'at once in a process',
      value: `${on.concurrency}, project() ${project.concurrency}`,
      set: 'on(…, { concurrency })',
    },
    { setting: 'when a key fails', value: String(on.onDead), set: 'on(…, { onDead })' },
    {
      setting: 'when what it calls is down',
      value: on.breaker
        ? `paused after ${on.breaker.failures}, tried in ${formatDuration(on.breaker.probeAfterMs)}`
        : 'tried on',
      set: 'on(…, { breaker })',
    },
    { setting: 'may run again', value: on.repeatable ? 'yes' : 'no', set: 'on(…, { repeatable })' },
  ];
}
