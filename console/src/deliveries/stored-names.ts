import type { Delivery } from './delivery-state.ts';

type Names = Pick<Delivery['request'], 'queue' | 'flowKey' | 'scheduleId' | 'group'>;

/** The names by which lists and filters know what a message says: those of a tenant `acme` begin with `@acme/`. */
export function storedNames({ tenant, queue, flowKey, scheduleId, group }: Delivery['request']): Names {
  const stored = (name: string | undefined): string | undefined =>
    name === undefined || tenant === undefined ? name : `@${tenant}/${name}`;
  return { queue: stored(queue), flowKey: stored(flowKey), scheduleId: stored(scheduleId), group: stored(group) };
}
