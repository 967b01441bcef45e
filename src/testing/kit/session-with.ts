import type { RelaySession } from '../../relay/relay-store.ts';

/** A session that does some things in another way. */
export function withActs<Tx>(session: RelaySession<Tx>, acts: Partial<RelaySession<Tx>>): RelaySession<Tx> {
  return new Proxy(session, {
    get: (target, name) => {
      if (Object.hasOwn(acts, name)) return Reflect.get(acts, name) as unknown;
      const value: unknown = Reflect.get(target, name, target);
      // A session may keep private fields, which are found on itself alone.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
