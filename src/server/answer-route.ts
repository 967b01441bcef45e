import type { Operator } from '../operator/operator.ts';
import { type Caller, forgedWrite, tooMany } from './authenticate.ts';
import { matchRoutes } from './match-route.ts';
import { isRefusedKind } from './openapi.ts';
import { takePayload } from './payload-query.ts';
import { type Problem, problemResponse, refusedOutcome, wrongFields } from './problem.ts';
import type { RateLimit } from './rate-limit.ts';
import { readJson } from './read-body.ts';
import type { ShownDeliveries } from './redacted-deliveries.ts';
import { readFields, readQuery } from './read-value.ts';
import { type Call, mayAs, type Role, type Route } from './route.ts';
import { ALL_ROUTES, ROUTES } from './routes/all-routes.ts';
import { text } from './schema.ts';
import type { OperatorServerOptions } from './server-options.ts';

/** What answering a route needs. */
export interface RouteSetting {
  readonly options: OperatorServerOptions;
  /** The operator as somebody of this role sees it. */
  readonly operatorFor: (role: Role) => Operator;
  /** Deliveries as somebody of this role sees them; nothing where the server has none. */
  readonly deliveriesFor: (role: Role) => ShownDeliveries | undefined;
  readonly writes: RateLimit;
}

/** Answers a request below `api/` of somebody who is known. */
export async function answerRoute(
  setting: RouteSetting,
  request: Request,
  path: string,
  caller: Caller,
): Promise<Response> {
  const { deliveries } = setting.options;
  const matches = matchRoutes(deliveries === undefined ? ROUTES : ALL_ROUTES, path);
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const match = matches.find(({ route }) => route.method === method);
  if (!match)
    return problemResponse(
      matches.length === 0 ? noRoute(path) : wrongMethod(matches.map(({ route }) => route.method)),
    );
  const { route, params } = match;
  const refused =
    route.method === 'POST' ? refusedWrite(setting, request, route, caller) : refusedRole(caller, route.role, route);
  if (refused) return denied(setting, route, caller, refused);
  const read = await readCall(setting, request, route, params);
  if ('status' in read) return problemResponse(read);
  const needed = route.roleFor?.(read.body) ?? route.role;
  const tooLow = refusedRole(caller, needed, route);
  if (tooLow) return denied(setting, route, caller, tooLow);
  const reason = read.body['reason'];
  const outcome = await route.run({
    ...read,
    operator: setting.operatorFor(caller.role),
    by: { actor: caller.actor, ...(typeof reason === 'string' ? { reason } : {}) },
    policyOf: setting.options.policyOf,
    // Without them there is no route that asks for them.
    deliveries: setting.deliveriesFor(caller.role) as ShownDeliveries,
  });
  return outcomeResponse(route, outcome);
}

function refusedWrite(
  { options, writes }: RouteSetting,
  request: Request,
  route: Route,
  caller: Caller,
): Problem | undefined {
  const forged = forgedWrite(request, caller, options.origins ?? []);
  if (forged) return forged;
  if (options.isReadOnly === true) return READ_ONLY;
  const refused = refusedRole(caller, route.role, route);
  if (refused) return refused;
  const seconds = writes.take(caller.actor);
  return seconds === 0 ? undefined : tooMany(seconds, 'Too many changes by one actor.');
}

function refusedRole({ role }: Caller, needed: Role, { id }: Route): Problem | undefined {
  if (mayAs(role, needed)) return undefined;
  return {
    status: 403,
    code: 'FORBIDDEN',
    title: 'Your role does not allow that',
    detail: `${id} needs the role ${needed}; yours is ${role}.`,
    next: `Ask somebody with the role ${needed}.`,
  };
}

function denied({ options }: RouteSetting, route: Route, { actor, role }: Caller, problem: Problem): Response {
  if (route.method === 'POST') {
    options.logger?.warn({ actor, role, route: route.id, code: problem.code }, 'operator server: a write was refused');
  }
  return problemResponse(problem);
}

type ReadCall = Pick<Call, 'params' | 'query' | 'payload' | 'body'>;

async function readCall(
  { options }: RouteSetting,
  request: Request,
  route: Route,
  params: Readonly<Record<string, string>>,
): Promise<ReadCall | Problem> {
  const ofPath = readFields(params, Object.fromEntries(Object.keys(params).map((name) => [name, text])));
  const { searchParams } = new URL(request.url);
  const { rest, payload, problems } = route.takesPayload
    ? takePayload(searchParams)
    : { rest: searchParams, payload: undefined, problems: [] };
  const query = readQuery(rest, route.query);
  const json =
    route.body === undefined ? { body: {} } : await readJson(request, options.maxBodyBytes ?? MAX_BODY_BYTES);
  if ('status' in json) return json;
  const body = readFields(json.body, route.body ?? {});
  if ('values' in ofPath && 'values' in query && 'values' in body && problems.length === 0) {
    return { params, query: query.values, payload, body: body.values };
  }
  const all = [ofPath, query, body].flatMap((one) => ('problems' in one ? one.problems : []));
  return wrongFields(route.id, [...all, ...problems]);
}

const MAX_BODY_BYTES = 2 * 1_048_576;

function outcomeResponse(route: Route, outcome: unknown): Response {
  const { kind } = (outcome ?? {}) as { readonly kind?: string };
  if (isRefusedKind(kind, route.refusals)) return problemResponse(refusedOutcome(outcome as never));
  return Response.json(outcome);
}

/** There is nothing at this path. */
export function noRoute(path: string): Problem {
  return {
    status: 404,
    code: 'NO_SUCH_ROUTE',
    title: 'There is nothing here',
    detail: `/${path.slice(0, 200)} is no route.`,
    next: 'See api/openapi.json.',
  };
}

/** Something is at this path, but not for this method. */
export function wrongMethod(methods: readonly string[]): Problem {
  const allow = methods.join(', ');
  return {
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    title: 'Not with this method',
    detail: `This path takes ${allow}.`,
    next: `Use ${allow}.`,
    headers: { allow },
  };
}

const READ_ONLY: Problem = {
  status: 403,
  code: 'READ_ONLY',
  title: 'This server is read-only',
  detail: 'It was started so that nobody can change anything through it.',
  next: 'Use a server that is not, or the command line.',
};
