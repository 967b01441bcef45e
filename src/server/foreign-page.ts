import type { Problem } from './problem.ts';

/**
 * True for a request that a page of another origin made a browser send. Browsers name the page in `Origin` or say in `Sec-Fetch-Site` how
 * far away it is, and no page can change either; programs send neither. `origins` are pages that may.
 */
export function isForeignPage(headers: Headers, origins: readonly string[] = []): boolean {
  const origin = headers.get('origin');
  if (origin !== null && origins.includes(origin)) return false;
  if (origin !== null && hostOf(origin) !== headers.get('host')) return true;
  const site = headers.get('sec-fetch-site');
  return site !== null && site !== 'same-origin' && site !== 'none';
}

/** True where a person follows a link: nothing of the answer reaches the page with the link. */
export function isNavigation({ method, headers }: Request): boolean {
  const mode = headers.get('sec-fetch-mode');
  return (method === 'GET' || method === 'HEAD') && mode === 'navigate' && headers.get('sec-fetch-dest') === 'document';
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

export const FOREIGN_PAGE: Problem = {
  status: 403,
  code: 'FOREIGN_ORIGIN',
  title: 'Another page may not call this server',
  detail: 'The request came from a page of another origin.',
  next: "Call it from the server's own pages or from a program, or list the origin in `origins`.",
};
