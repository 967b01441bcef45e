import type { Route } from './route.ts';

/** A route and what its parameters are. */
export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The routes whose path fits, whatever their method. The first of the table wins: fixed paths stand before parameters. */
export function matchRoutes(routes: readonly Route[], path: string): readonly Match[] {
  const given = path.split('/');
  return routes.flatMap((route) => {
    const params = paramsOf(route.path.split('/'), given);
    return params === undefined ? [] : [{ route, params }];
  });
}

function paramsOf(wanted: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const found = given[i] ?? '';
    if (!part.startsWith(':')) {
      if (part !== found) return undefined;
    } else {
      const value = decoded(found);
      if (value === undefined || value === '') return undefined;
      params[part.slice(1)] = value;
    }
  }
  return params;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
