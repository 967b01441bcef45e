/** A request target below where the API is mounted, as it stood on the request line: nothing of it is decoded or resolved. */
export interface RawTarget {
  /** Without `/v2/` in front. */
  readonly path: string;
  /** Without `?`. */
  readonly query: string | undefined;
}

/** Nothing: the target is not below `<basePath>/v2/`. Dot segments are names like any other here, so they lead nowhere. */
export function targetBelow(basePath: string, target: string): RawTarget | undefined {
  const prefix = `${basePath}/v2/`;
  if (!target.startsWith(prefix)) return undefined;
  // A fragment is not for servers. Whoever sends one all the same meant the address before it.
  const [rest = ''] = target.slice(prefix.length).split('#', 1);
  const mark = rest.indexOf('?');
  return mark < 0
    ? { path: rest, query: undefined }
    : { path: rest.slice(0, mark), query: rest.slice(mark + 1) || undefined };
}

/** The target of a request that came without one: a URL has been resolved by whoever made it. */
export function targetOf(url: string): string {
  const { origin } = new URL(url);
  return url.startsWith(origin) ? url.slice(origin.length) : new URL(url).pathname;
}
