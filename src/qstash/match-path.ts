import type { ApiRoute } from './route.ts';

/** A route whose path fits. */
export interface PathMatch {
  readonly route: ApiRoute;
  readonly params: Readonly<Record<string, string>>;
  readonly rest: string;
}

/**
 * The routes whose path fits, whatever their method; the first of the table comes first. Dot segments are names like any other. The case of
 * the first segment does not matter: the Go client writes `Schedules` in some of its calls.
 */
export function matchPath(routes: readonly ApiRoute[], path: string): readonly PathMatch[] {
  const given = path.split('/');
  return routes.flatMap((route) => {
    const found = fit(route.path.split('/'), given);
    return found === undefined ? [] : [{ route, ...found }];
  });
}

function fit(wanted: readonly string[], given: readonly string[]): Omit<PathMatch, 'route'> | undefined {
  const params: Record<string, string> = {};
  let at = 0;
  for (const [i, part] of wanted.entries()) {
    if (part === '*') {
      const rest = given.slice(at).join('/');
      return at < given.length && rest !== '' ? { params, rest } : undefined;
    }
    const count = part.startsWith('+') ? given.length - at - (wanted.length - i - 1) : 1;
    if (count < 1 || at + count > given.length) return undefined;
    const found = given.slice(at, at + count).join('/');
    if (/^[:+]/.test(part)) {
      const value = decoded(found);
      if (value === undefined || value === '') return undefined;
      params[part.slice(1)] = value;
    } else if (part !== found && (i > 0 || part.toLowerCase() !== found.toLowerCase())) return undefined;
    at += count;
  }
  return at === given.length ? { params, rest: '' } : undefined;
}

function decoded(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text);
    return value.includes('\u0000') ? undefined : value;
  } catch {
    return undefined;
  }
}
