import { type Api, searchOf } from './api-client.ts';
import type { NamedCall } from './measure-calls.ts';
import { type Examples, questions } from './api-questions.ts';

type Query = Readonly<Record<string, string>>;

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
}

/** A route as the server's own document tells it. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
}

/** Every route there is. */
export async function operationsOf(api: Api): Promise<readonly Operation[]> {
  const { paths } = (await api.get('/api/openapi.json')) as {
    paths: Record<string, Record<string, { operationId: string; parameters?: readonly Parameter[] }>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [] }]) => ({
      id: operationId,
      method,
      path,
      parameters,
    })),
  );
}

/** Every route that reads, with all it can be asked by. Throws where one is forgotten, or a list is empty. */
export async function apiReads(
  api: Api,
  operations: readonly Operation[],
  examples: Examples,
  rounds: number,
): Promise<readonly NamedCall[]> {
  const asked = questions(examples);
  const calls: NamedCall[] = [];
  for (const operation of operations.filter(({ method }) => method === 'get')) {
    if (operation.id === 'events') {
      calls.push({ name: `GET ${operation.path}`, rounds, run: () => api.open(operation.path) });
      continue;
    }
    // It reads all of the audit, by design, and stands on no page.
    if (operation.id === 'verifyAudit') continue;
    const queries = asked[operation.id] ?? [];
    checkAsked(operation, queries);
    for (const query of queries) calls.push(callOf(api, operation, query, rounds));
    if (operation.parameters.some(({ name }) => name === 'cursor')) {
      const cursor = await farBehind(api, operation, queries[0] ?? {});
      if (cursor !== undefined) calls.push(callOf(api, operation, { ...queries[0], cursor }, rounds));
    }
  }
  return calls;
}

function checkAsked({ id, path, parameters }: Operation, queries: readonly Query[]): void {
  if (queries.length === 0) throw new Error(`nothing is asked of ${id}, GET ${path}`);
  const names = new Set(
    queries.flatMap((query) => Object.keys(query).map((name) => name.replace(/^payload\..*/, 'payload'))),
  );
  const forgotten = parameters.filter(({ name }) => name !== 'limit' && name !== 'cursor' && !names.has(name));
  if (forgotten.length > 0) throw new Error(`${path} is not asked by ${forgotten.map(({ name }) => name).join(', ')}`);
}

/** The route's path with what it takes, and the rest as a query. */
function addressOf({ path, parameters }: Operation, query: Query): readonly [path: string, query: Query] {
  const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const filled = inPath.reduce((text, name) => text.replace(`{${name}}`, encodeURIComponent(query[name] ?? '')), path);
  return [filled, Object.fromEntries(Object.entries(query).filter(([name]) => !inPath.includes(name)))];
}

function callOf(api: Api, operation: Operation, query: Query, rounds: number): NamedCall {
  const [path, rest] = addressOf(operation, query);
  const { cursor, ...plain } = rest;
  const shown = decodeURIComponent(searchOf(plain)).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>');
  const id = operation.path.includes('{id}') ? (query['id']?.includes(':') === true ? ' of a dead letter' : '') : '';
  const name = `GET ${operation.path}${shown}${id}${cursor === undefined ? '' : ', far behind'}`;
  return { name, rounds, run: () => api.get(path, rest) };
}

/** A cursor up to 20,000 items behind the first; nothing where all fit on a few pages. */
async function farBehind(api: Api, operation: Operation, query: Query): Promise<string | undefined> {
  const [path, rest] = addressOf(operation, query);
  let cursor: string | undefined;
  for (const [limit, pages] of [
    ['1000', 20],
    ['50', 4],
  ] as const) {
    for (let page = 0; page < pages; page++) {
      const answer = (await api.get(path, { ...rest, limit, ...(cursor === undefined ? {} : { cursor }) })) as {
        readonly items: readonly unknown[];
        readonly next?: string;
      };
      if (page === 0 && answer.items.length === 0) throw new Error(`${path} has nothing in its list`);
      if (answer.next === undefined) break;
      cursor = answer.next;
    }
    if (cursor !== undefined) break;
  }
  return cursor;
}
