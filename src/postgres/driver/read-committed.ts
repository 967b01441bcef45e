import { sqlStateOf } from './database-error.ts';
import type { Driver, Link } from './driver.ts';

const DEFAULT_ISOLATION = `select (current_setting('default_transaction_isolation') = 'read committed')::int`;
const SERIALIZATION_FAILURE = '40001';

/**
 * The same driver, whose links run every statement under read committed. A statement on its own goes by the default of its role or database:
 * where that is another, it gets a transaction around it, two round trips more. Not by a setting of the session, which a pooler
 * would hand to the application. Effects of handlers begin as the application's transactions do.
 */
export function readCommitted(driver: Driver<unknown>): Driver<unknown> {
  return { ...driver, link: () => readCommittedLink(driver.link()) };
}

function readCommittedLink(link: Link): Link {
  let isDefault: boolean | undefined;
  return {
    query: async (text, params) => {
      isDefault ??= Number((await link.query(DEFAULT_ISOLATION, []))[0]?.[0]) === 1;
      if (!isDefault) return link.transaction((query) => query(text, params));
      try {
        return await link.query(text, params);
      } catch (error) {
        // Never under read committed: the default was changed, and the connection opened again since.
        if (sqlStateOf(error) !== SERIALIZATION_FAILURE) throw error;
        isDefault = undefined;
        return link.transaction((query) => query(text, params));
      }
    },
    transaction: (work) => link.transaction(work),
    close: () => link.close(),
  };
}
