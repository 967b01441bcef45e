import type { Deliveries } from '../delivery/deliveries.ts';
import type { DeliverySelection } from '../delivery/delivery-messages.ts';
import { HoldfastError } from '../kernel/error.ts';
import { hideUrlSecrets } from '../kernel/hide-url-secrets.ts';
import { callsOf } from './calls-of.ts';
import { redactedEndpoints } from './redacted-endpoints.ts';
import { RedactionRules } from './redaction.ts';
import { ShownAnswer } from './shown-answer.ts';

/** What operators see and do of deliveries. Publishing, signing keys and tokens are not theirs. */
export type ShownDeliveries = Omit<Deliveries, 'publishing' | 'signingKeys' | 'tokens'>;

/** A part of deliveries in whose answers secrets that are known by their place are hidden. */
export function withoutKnownSecrets<T extends object>(part: T): T {
  const shown = new ShownAnswer(new RedactionRules(undefined), { showsKeys: true });
  return callsOf(part, async (_name, args, call) => shown.of(await call(...args)));
}

/** Fields of a selection, and the field of a delivery each is compared with. */
const SELECTED: Readonly<Partial<Record<keyof DeliverySelection, string>>> = {
  url: 'url',
  host: 'url',
  path: 'url',
  group: 'group',
  scheduleId: 'scheduleId',
  queue: 'queue',
  labels: 'labels',
  flowKey: 'flowKey',
  callerIp: 'callerIp',
};

/**
 * Deliveries as somebody sees them from whom these rules hide something, as `redactedOperator` has messages: what is hidden is replaced in
 * all answers, and a selection that would find it by trying is refused with `FIELD_REDACTED`.
 */
export function redactedDeliveries(deliveries: Deliveries, rules: RedactionRules): ShownDeliveries {
  const shown = new ShownAnswer(rules, { showsKeys: true });
  const part = <T extends object>(of: T): T => callsOf(of, async (_name, args, call) => shown.of(await call(...args)));
  const selected = <T extends object>(of: T): T =>
    callsOf(part(of), async (_name, args, call) => {
      refuseToTell(rules, args);
      return call(...args);
    });
  const { messages, dead, log, queues, urlGroups, flowControls, schedules, destinations, endpoints } = deliveries;
  return {
    messages: selected(messages),
    dead: selected(dead),
    log: selected(log),
    queues: part(queues),
    urlGroups: part(urlGroups),
    flowControls: callsOf(part(flowControls), async (name, args, call) => {
      const isSearch = name === 'list' && args[0] !== undefined;
      if (isSearch && rules.covers(['flowKey'])) throw new HoldfastError('FIELD_REDACTED', { field: 'search' });
      return call(...args);
    }),
    schedules: part(schedules),
    destinations: part(destinations),
    endpoints: part(redactedEndpoints(endpoints, shown)),
  };
}

function refuseToTell(rules: RedactionRules, [selection]: readonly unknown[]): void {
  if (typeof selection !== 'object' || selection === null) return;
  for (const [field, of] of Object.entries(SELECTED)) {
    const value = (selection as Readonly<Record<string, unknown>>)[field];
    if (value === undefined) continue;
    const texts = (Array.isArray(value) ? value : [value]).map((text) =>
      field === 'host' ? `http://${text}` : String(text),
    );
    const tells = of === 'url' && texts.some((text) => hideUrlSecrets(text) !== text);
    if (tells || rules.covers([of])) throw new HoldfastError('FIELD_REDACTED', { field });
  }
}
