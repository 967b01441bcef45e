/** What a client does with a redirect. Never followed to another origin, so no header ever reaches one. */
export type RedirectRule = 'refuse' | 'same-origin';

/** How many redirects one attempt follows at most. */
export const MOST_REDIRECTS = 5;

/** What to do with a redirect: call `url` next, or refuse. */
export type RedirectStep =
  | { readonly kind: 'follow'; readonly url: URL; readonly method: string }
  | { readonly kind: 'refuse' };

/** What a redirect is decided from. */
export interface Redirected {
  readonly rule: RedirectRule;
  readonly status: number;
  readonly location: string | null;
  readonly from: URL;
  readonly method: string;
  /** How many were followed in this attempt. */
  readonly followed: number;
  /** False when the request's body can be sent once only. */
  readonly bodyIsKept: boolean;
}

/** True for an answer that sends the caller elsewhere. */
export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/**
 * Whether a redirect is followed. 307 and 308 repeat the request as it is, 303 reads the result with GET. 301 and 302 are
 * followed for GET and HEAD only: browsers turn a POST into a GET there, and the write would be lost without a word.
 */
export function redirectStep(redirected: Redirected): RedirectStep {
  const { rule, status, location, from, method, followed, bodyIsKept } = redirected;
  const url = location === null ? null : URL.parse(location, from);
  if (rule === 'refuse' || followed >= MOST_REDIRECTS || !url || url.origin !== from.origin) return { kind: 'refuse' };
  if (url.username !== '' || url.password !== '') return { kind: 'refuse' };
  const isRead = method === 'GET' || method === 'HEAD';
  if (status === 303) return { kind: 'follow', url, method: isRead ? method : 'GET' };
  if (isRead || ((status === 307 || status === 308) && bodyIsKept)) return { kind: 'follow', url, method };
  return { kind: 'refuse' };
}
