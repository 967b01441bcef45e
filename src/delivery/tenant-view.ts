import type { Deliveries } from './deliveries.ts';
import type { PublishRequest } from './publishing.ts';
import type { ScheduleInput, ScheduleRecord } from './schedules.ts';
import { DEFAULT_TENANT, ownName, storedName } from './tenants.ts';
import type { ChangedBy } from './webhook-endpoints.ts';

/** What one tenant can do and see: what holders of its tokens are given. */
export type TenantDeliveries = Pick<
  Deliveries,
  'publishing' | 'messages' | 'dead' | 'log' | 'queues' | 'urlGroups' | 'flowControls' | 'schedules' | 'signingKeys'
>;

/**
 * The deliveries of one tenant. Names are its own: two tenants with a queue `nightly` have two. Whatever belongs to another is not there:
 * it is neither shown nor changed, by id, by name or in bulk. Changes are audited as made by `by`.
 */
export function tenantView(all: Deliveries, tenant: string, by: ChangedBy): TenantDeliveries {
  return {
    ...messageViews(all, tenant, by),
    ...lineViews(all, tenant, by),
    schedules: scheduleView(all, tenant, by),
    signingKeys: {
      get: () => all.signingKeys.get(tenant, by),
      rotate: () => all.signingKeys.rotate(tenant, by),
    },
  };
}

function messageViews(
  { publishing, messages, dead, log }: Deliveries,
  tenant: string,
  by: ChangedBy,
): Pick<TenantDeliveries, 'publishing' | 'messages' | 'dead' | 'log'> {
  return {
    publishing: {
      publish: (requests) =>
        publishing.publish(
          requests.map((one) => owned(one, tenant)),
          by,
        ),
    },
    messages: {
      get: async (messageId) => {
        const found = await messages.get(messageId);
        return (found?.request.tenant ?? DEFAULT_TENANT) === tenant ? found : undefined;
      },
      list: (selection, page) => messages.list(selected(selection, tenant), page),
      cancel: (selection, _by, limit) => messages.cancel(selected(selection, tenant), by, limit),
    },
    dead: {
      get: async (dlqId) => (await dead.list({ dlqIds: [dlqId], tenant }, { limit: 1 })).items[0],
      list: (selection, page) => dead.list(selected(selection, tenant), page),
      discard: (selection, page) => dead.discard(selected(selection, tenant), page, by),
      replay: (selection, page, rules) => dead.replay(selected(selection, tenant), page, rules, by),
    },
    log: { list: (selection, page) => log.list(selected(selection, tenant), page) },
  };
}

function lineViews(
  { queues, urlGroups, flowControls }: Deliveries,
  tenant: string,
  by: ChangedBy,
): Pick<TenantDeliveries, 'queues' | 'urlGroups' | 'flowControls'> {
  const stored = (name: string): string => storedName(tenant, name);
  return {
    queues: {
      get: async (name) => named(await queues.get(stored(name))),
      list: async () => (await queues.list(tenant)).map(named),
      upsert: (name, change) => queues.upsert(stored(name), change, by),
      delete: (name) => queues.delete(stored(name), by),
    },
    urlGroups: {
      get: async (name) => named(await urlGroups.get(stored(name))),
      list: async () => (await urlGroups.list(tenant)).map(named),
      addEndpoints: (name, endpoints) => urlGroups.addEndpoints(stored(name), endpoints, by),
      removeEndpoints: (name, endpoints) => urlGroups.removeEndpoints(stored(name), endpoints, by),
      delete: (name) => urlGroups.delete(stored(name), by),
    },
    flowControls: {
      get: async (key) => keyed(await flowControls.get(stored(key))),
      list: async (search) => (await flowControls.list(search, tenant)).map(keyed),
      pause: (key) => flowControls.pause(stored(key), by),
      resume: (key) => flowControls.resume(stored(key), by),
      pin: (key, rules) => flowControls.pin(stored(key), rules, by),
      unpin: (key, which) => flowControls.unpin(stored(key), which, by),
      resetRate: (key) => flowControls.resetRate(stored(key), by),
    },
  };
}

function scheduleView({ schedules }: Deliveries, tenant: string, by: ChangedBy): TenantDeliveries['schedules'] {
  const stored = (id: string): string => storedName(tenant, id);
  return {
    put: async (input: ScheduleInput) => {
      const outcome = await schedules.put(owned(input, tenant), by);
      return outcome.kind === 'scheduled' ? { ...outcome, scheduleId: ownName(outcome.scheduleId) } : outcome;
    },
    get: async (id) => scheduled(await schedules.get(stored(id))),
    list: async () => (await schedules.list(tenant)).map(scheduled),
    delete: (id) => schedules.delete(stored(id), by),
    pause: (id) => schedules.pause(stored(id), by),
    resume: (id) => schedules.resume(stored(id), by),
    fire: (now) => schedules.fire(now),
    onChange: (listener) => schedules.onChange(listener),
  };
}

/** What is published or scheduled as this tenant's, whatever it said before. */
function owned<T extends Pick<PublishRequest, 'delivery'>>(given: T, tenant: string): T {
  const { tenant: _tenant, ...delivery } = given.delivery;
  return { ...given, delivery: tenant === DEFAULT_TENANT ? delivery : { ...delivery, tenant } };
}

/** The tenant's own names become those that are stored. */
function selected<
  T extends Partial<Record<'queue' | 'group' | 'flowKey' | 'scheduleId', string | readonly string[] | undefined>>,
>(selection: T, tenant: string): T & { readonly tenant: string } {
  const storedOf = (names: string | readonly string[] | undefined): string | readonly string[] | undefined =>
    typeof names === 'string' ? storedName(tenant, names) : names?.map((name) => storedName(tenant, name));
  const { queue, group, flowKey, scheduleId } = selection;
  return {
    ...selection,
    queue: storedOf(queue),
    group: storedOf(group),
    flowKey: storedOf(flowKey),
    scheduleId: storedOf(scheduleId),
    tenant,
  };
}

function named<T extends { readonly name: string } | undefined>(record: T): T {
  return record && { ...record, name: ownName(record.name) };
}

function keyed<T extends { readonly key: string } | undefined>(record: T): T {
  return record && { ...record, key: ownName(record.key) };
}

function scheduled<T extends ScheduleRecord | undefined>(record: T): T {
  return record && { ...record, scheduleId: ownName(record.scheduleId) };
}
