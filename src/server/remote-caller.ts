import { OptionCheck } from '../kernel/check-options.ts';
import { callRoute, type RemoteArguments, type RemoteTarget } from './remote-call.ts';

/** What `remoteOperator` and `remoteDeliveries` take. */
export interface RemoteOptions {
  /** Where the server is, with its base path: `http://localhost:4747/`. */
  readonly url: string;
  /** Who asks. Without one only a server on this machine answers. */
  readonly token?: string | undefined;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined;
  /** How long one answer may take, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** Calls a route by its id. */
export type Calls = (id: string, given?: RemoteArguments) => Promise<unknown>;

/** Checks the options of `of`, and gives what calls the routes of that server. */
export function remoteCaller(of: string, options: RemoteOptions): Calls {
  const check = new OptionCheck(of);
  if (!check.object('options', options, "pass { url: 'http://localhost:4747/', token }")) check.done();
  check.known(options, ['url', 'token', 'fetch', 'timeoutMs']);
  const { token, fetch: asked = fetch, timeoutMs = 60_000 } = options;
  const url = URL.canParse(options.url) ? new URL(options.url) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    check.refuse('url', options.url, 'write an address such as http://localhost:4747/');
  }
  check.number('timeoutMs', timeoutMs, { min: 1, max: 3_600_000, write: 'write milliseconds, 1 to 3,600,000' });
  check.done();
  const target: RemoteTarget = { url: withSlash(url ?? new URL('http://localhost')), token, fetch: asked, timeoutMs };
  return (id, given) => callRoute(target, id, given);
}

/** Paths are added behind the last slash. Anything in the query or the user is no part of an address of ours. */
function withSlash({ origin, pathname }: URL): URL {
  return new URL(pathname.endsWith('/') ? pathname : `${pathname}/`, origin);
}

/** Why, for the audit there; who is the token. */
export function reasonOf({ reason }: { readonly reason?: string | undefined }): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}
