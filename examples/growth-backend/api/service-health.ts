import { type Health, probeHealth, serviceClient } from 'holdfast/http';
import { PARTNERS, type PartnerName, type Settings } from '../settings.ts';

/** How each of the other services is: `up`, `unavailable` (asking again will not help) or `retryable` (it may). */
export type ServicesHealth = Readonly<Record<PartnerName, Health>>;

/** Asks all of them at once, each within two seconds. A service that is away is an answer like any other. */
export type AskServices = () => Promise<ServicesHealth>;

/** Pages that look every second ask the services only so often. */
const FRESH_MS = 2_000;

/** What asks the other services how they are. `now` is in milliseconds. */
export function serviceHealth(
  { partners, a2aKey, gitToken }: Pick<Settings, 'partners' | 'a2aKey' | 'gitToken'>,
  now: () => number = () => performance.now(),
): AskServices {
  const at = { bearer: a2aKey };
  const clients = {
    interview: serviceClient({ ...at, baseUrl: partners.interview }),
    agent: serviceClient({ ...at, baseUrl: partners.agent }),
    git: serviceClient({ bearer: gitToken, authScheme: 'token', baseUrl: partners.git }),
    llm: serviceClient({ ...at, baseUrl: partners.llm }),
  };
  const paths = { interview: '/health', agent: '/global/health', git: '/api/v1/version', llm: '/v1/models' };
  const ask = async (): Promise<ServicesHealth> => {
    const told = PARTNERS.map(async (name) => [name, await probeHealth(clients[name], { path: paths[name] })] as const);
    return Object.fromEntries(await Promise.all(told)) as ServicesHealth;
  };
  let last: { readonly at: number; readonly answer: Promise<ServicesHealth> } | undefined;
  return async () => {
    if (last === undefined || now() - last.at > FRESH_MS) last = { at: now(), answer: ask() };
    return last.answer;
  };
}
