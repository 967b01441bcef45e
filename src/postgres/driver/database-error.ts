import { prismaState } from '../../retry/classify/prisma-state.ts';

/** The SQLSTATE of an error of any client, also where a query builder has wrapped it. */
export function sqlStateOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const code = prismaState(at) ?? (at as { code?: unknown }).code;
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code)) return code;
  }
  return undefined;
}

/** True when the database itself refused a statement and its connection is sound: what was sent is known not to be kept. */
export function isRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  // 08: the connection failed · 57P: the server ends this session.
  return state !== undefined && !state.startsWith('08') && !state.startsWith('57P');
}

/** Serialisation failure, deadlock: the same transaction may succeed when it is run again. */
export function isConflict(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40001' || state === '40P01';
}

/** The data of a row is at fault, and not the time or the server: another try of the same row fails alike. */
export function isFaultOfData(error: unknown): boolean {
  // 22: data · 23: a constraint · 44: a view's check · 54: a limit of the server · P0: raised by a trigger.
  return /^(22|23|44|54|P0)/.test(sqlStateOf(error) ?? '');
}

/** The server takes no writes: it has become a replica, and somebody else is in charge. Its sessions live on. */
export function isReadOnly(error: unknown): boolean {
  return sqlStateOf(error) === '25006';
}
