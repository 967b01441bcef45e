import { freePorts } from '../local-processes/free-ports.ts';

/** The variables that say where the processes listen, in the order of their usual ports from 3001 on. */
const VARIABLES = [
  'ORDERS_PORT',
  'EXPENSES_PORT',
  'TRANSACTIONS_PORT',
  'TRACES_PORT',
  'TRANSACTIONS_REST_PORT',
  'ORDERS_RELAY_PORT',
] as const;

const FIRST_PORT = 3_001;

/** Where the usual ports are not free and none was named: others, next to each other. Nothing where they need not be set. */
export async function otherPorts(env: NodeJS.ProcessEnv): Promise<Readonly<Record<string, string>>> {
  if (VARIABLES.some((name) => env[name])) return {};
  const first = await freePorts(FIRST_PORT, VARIABLES.length);
  return first === FIRST_PORT ? {} : Object.fromEntries(VARIABLES.map((name, n) => [name, String(first + n)] as const));
}
