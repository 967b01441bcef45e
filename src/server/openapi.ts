import { PLAIN_ROUTES, type PlainRoute } from './plain-routes.ts';
import { isRefusal, refusalStatus } from './problem.ts';
import type { Route } from './route.ts';
import { kindOf, objectOf, type JsonSchema } from './schema.ts';

type Json = Readonly<Record<string, unknown>>;

/** The API as an OpenAPI 3.1 document, made from the routes. */
export function openApi(version: string, basePath: string, routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = `/${route.path.replaceAll(/:(\w+)/g, '{$1}')}`;
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  }
  for (const plain of PLAIN_ROUTES) (paths[plain.path] ??= {})[plain.method] = plainOperation(plain);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version,
      summary: 'What operators can see and do.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      schemas: { Problem: PROBLEM },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'holdfast_session' },
      },
    },
  };
}

const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'RFC 9457, with a code and the next step; a refusal has the fields of its outcome too.',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
    next: { type: 'string' },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'next'],
};

const REFUSED = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };

function plainOperation({ id, summary, isOpen, body, answer, type }: PlainRoute): Json {
  return {
    operationId: id,
    summary,
    ...(isOpen === true ? { security: [] } : {}),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: body.json } } } }),
    responses: {
      200: { description: 'As asked.', content: { [type]: { schema: answer?.json ?? { type: 'string' } } } },
      default: { description: 'It was refused or did not work.', content: REFUSED },
    },
  };
}

function operationOf(route: Route): Json {
  const { id, method, role, summary, body } = route;
  return {
    operationId: id,
    summary,
    'x-role': role,
    parameters: parametersOf(route),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: objectOf(body).json } } } }),
    ...(method === 'POST' ? { 'x-csrf': 'x-holdfast-csrf' } : {}),
    responses: responsesOf(route),
  };
}

function parametersOf({ path, query, takesPayload }: Route): readonly Json[] {
  const ofPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const ofQuery = Object.entries(query).map(([name, { json, isOptional }]) => {
    const { description, ...schema } = json;
    return {
      name,
      in: 'query',
      required: !isOptional,
      description: description ?? `\`${name}\` of the answer.`,
      schema,
    };
  });
  const ofPayload = {
    name: 'payload',
    in: 'query',
    description: 'Values in the payload: payload.customer.id=42.',
    style: 'form',
    explode: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  };
  return [...ofPath, ...ofQuery, ...(takesPayload ? [ofPayload] : [])];
}

function responsesOf(route: Route): Json {
  const { answer, refusals } = route;
  const isRefused = (shape: JsonSchema): boolean => isRefusedKind(kindOf(shape), refusals);
  const shapes = answer.json.oneOf ?? [answer.json];
  const given = shapes.filter((shape) => !isRefused(shape));
  const refused = shapes.filter(isRefused);
  const byStatus = Map.groupBy(refused, (shape) => refusalStatus(kindOf(shape) ?? ''));
  const problem = { content: REFUSED };
  const refusedResponses = [...byStatus].map(([status, of]) => [
    String(status),
    { description: of.map((shape) => kindOf(shape)).join(', '), ...problem },
  ]);
  return {
    200: {
      description: 'Done, or as asked.',
      content: { 'application/json': { schema: given.length === 1 ? given[0] : { oneOf: given } } },
    },
    ...(Object.fromEntries(refusedResponses) as Json),
    default: { description: 'It was refused or did not work.', ...problem },
  };
}

/** True when an outcome of this kind is a refusal on this route. */
export function isRefusedKind(kind: string | undefined, refusals: readonly string[]): boolean {
  return kind !== undefined && (isRefusal(kind) || refusals.includes(kind));
}
