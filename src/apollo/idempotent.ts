import { type GraphqlDocument, isMutation, KEY_MISSING_MESSAGE } from '../graphql/mutation.ts';
import { httpGate } from '../idempotency/http/http-gate.ts';
import type { CapturedReply, HttpReply } from '../idempotency/http/http-reply.ts';
import type { HttpRun } from '../idempotency/http/http-run.ts';
import type { RequestFacts } from '../idempotency/http/request-facts.ts';
import type { RouteOptions } from '../idempotency/http/route-options.ts';
import type { RunFacts } from '../idempotency/entry.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { HoldfastError } from '../kernel/error.ts';

/** How mutations are guarded. `commit` does not exist here: a reply is made of all fields, after the last of them. */
export type ApolloOptions<Context> = Omit<
  RouteOptions<ApolloRequest<Context>>,
  'atomic' | 'compare' | 'maxRequestBytes'
>;

/** What is used of headers of Apollo Server. */
interface ApolloHeaders extends Iterable<[string, string]> {
  get(name: string): string | undefined;
  set(name: string, value: string): unknown;
}

/** What is used of a request of Apollo Server 5. */
export interface ApolloRequest<Context> {
  readonly contextValue: Context;
  readonly request: {
    readonly http?:
      | { readonly method: string; readonly search: string; readonly body: unknown; readonly headers: ApolloHeaders }
      | undefined;
  };
}

/** A request whose operation is known. */
interface ApolloOperation<Context> extends ApolloRequest<Context> {
  readonly document: GraphqlDocument;
  readonly operationName: string | null;
  readonly response: { readonly http: { status?: number; headers: ApolloHeaders }; body?: unknown };
}

/** What a plugin may answer in place of running an operation. */
interface ApolloAnswer {
  readonly http: { readonly status: number; readonly headers: never };
  readonly body: { readonly kind: 'single'; readonly singleResult: object };
}

/** A plugin of Apollo Server 5. */
export interface ApolloIdempotency<Context> {
  requestDidStart(): Promise<{
    responseForOperation(operation: ApolloOperation<Context>): Promise<ApolloAnswer | null>;
    willSendResponse(operation: Pick<ApolloOperation<Context>, 'response' | 'contextValue'>): Promise<void>;
  }>;
}

const runs = new WeakMap<object, RunFacts>();

/**
 * Guards mutations: `new ApolloServer({ schema, plugins: [idempotent(idem, { person: ({ contextValue }) => contextValue.userId })] })`. The
 * key travels as the HTTP header. One request under one key is one unit, however many mutations it holds: they run once, and a
 * repetition gets the same reply. Requests with a key are guarded whatever they ask for; mutations without one are refused, unless
 * `required` is false. A document that does not parse or fit the schema runs nothing, and is not remembered. Put it last among the
 * plugins: headers that another sets after it are not kept.
 */
export function idempotent<Tx, Context extends object>(
  idempotency: Idempotency<Tx>,
  options: ApolloOptions<Context>,
): ApolloIdempotency<Context> {
  const { required = true } = options;
  // Whether a request without a key holds a mutation, its document says.
  const gate = httpGate<ApolloRequest<Context>, Tx>('idempotent()', idempotency, { ...options, required: false });
  return {
    requestDidStart: async () => {
      let run: HttpRun<Tx> | undefined;
      return {
        responseForOperation: async (operation) => {
          const { http } = operation.request;
          // Asked by the program itself.
          if (http === undefined) return null;
          const entry = await gate.enter(operation, factsOf(http));
          if (entry.kind === 'answer') return answerOf(entry.reply);
          if (entry.kind === 'run') {
            run = entry.run;
            runs.set(operation.contextValue, run);
            return null;
          }
          const isFree = !required || !isMutation(operation.document, operation.operationName);
          return isFree || http.headers.get('idempotency-key') !== undefined ? null : KEY_MISSING;
        },
        willSendResponse: async ({ response }) => {
          if (run !== undefined) await finish(run, response);
        },
      };
    },
  };
}

/** The run that a context belongs to: its signal, its number, and keys for calls to others. Throws `IDEMPOTENCY_NO_RUN`. */
export function runOf(contextValue: object): RunFacts {
  const run = runs.get(contextValue);
  if (run === undefined) throw new HoldfastError('IDEMPOTENCY_NO_RUN', {});
  return run;
}

const KEY_MISSING = errorAnswer(400, [], KEY_MISSING_MESSAGE, { code: 'IDEMPOTENCY_KEY_MISSING' });

function factsOf({
  method,
  search,
  headers,
  body,
}: NonNullable<ApolloRequest<unknown>['request']['http']>): RequestFacts {
  return {
    method,
    // Apollo Server does not tell where it is mounted.
    path: '/graphql',
    query: search,
    route: undefined,
    header: (name) => {
      const value = headers.get(name);
      return value === undefined ? [] : [value];
    },
    body: () => ({ kind: 'parsed', value: body }),
  };
}

async function finish<Tx>(run: HttpRun<Tx>, response: ApolloOperation<never>['response']): Promise<void> {
  const { http } = response;
  let instead: HttpReply | undefined;
  try {
    instead = await run.finish(captured(run, response));
  } catch {
    // The route's own `keep` threw. The run is in doubt; the client gets what was answered.
  }
  if (instead === undefined) return void http.headers.set(...run.header);
  const answer = answerOf(instead);
  http.status = answer.http.status;
  for (const [name, value] of instead.headers) if (isOwn(name)) http.headers.set(name, value);
  response.body = answer.body;
}

function captured<Tx>(run: HttpRun<Tx>, { http, body }: ApolloOperation<never>['response']): CapturedReply {
  const { kind, singleResult } = (body ?? {}) as Partial<ApolloAnswer['body']>;
  // What is sent part by part (`@defer`) is not kept.
  const bytes = kind === 'single' ? new TextEncoder().encode(JSON.stringify(singleResult)) : undefined;
  const isKept = bytes !== undefined && bytes.length <= run.maxReplyBytes;
  return { status: http.status ?? 200, headers: [...http.headers], body: isKept ? bytes : 'too-large' };
}

/** A reply as Apollo Server has it. Refusals of ours become errors of GraphQL, with the same status. */
function answerOf({ status, headers, body }: HttpReply): ApolloAnswer {
  const lines = headers.filter(([name]) => isOwn(name));
  const found = JSON.parse(new TextDecoder().decode(body)) as { type?: string; title?: string; detail?: string };
  if (typeof found.type !== 'string' || typeof found.title !== 'string') {
    return { http: { status, headers: new Map(lines) as never }, body: { kind: 'single', singleResult: found } };
  }
  const code = `IDEMPOTENCY_${(found.type.split(':').at(-1) ?? '').replaceAll('-', '_').toUpperCase()}`;
  return errorAnswer(status, lines, `${found.title}. ${found.detail ?? ''}`, { code, type: found.type });
}

function errorAnswer(
  status: number,
  headers: HttpReply['headers'],
  message: string,
  extensions: Readonly<Record<string, string>>,
): ApolloAnswer {
  const singleResult = { errors: [{ message, extensions }] };
  return { http: { status, headers: new Map(headers) as never }, body: { kind: 'single', singleResult } };
}

/** Apollo Server chooses the type itself, by what the client accepts. */
function isOwn(name: string): boolean {
  return name.toLowerCase() !== 'content-type';
}
