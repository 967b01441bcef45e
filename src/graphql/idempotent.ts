import { finishWithResponse, toResponse } from '../idempotency/http/fetch-reply.ts';
import { bytesFacts, factsWithBody, readBytes } from '../idempotency/http/fetch-request.ts';
import { httpGate } from '../idempotency/http/http-gate.ts';
import type { HttpRun } from '../idempotency/http/http-run.ts';
import { MEBIBYTE, type RouteOptions } from '../idempotency/http/route-options.ts';
import type { RunFacts } from '../idempotency/entry.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { HoldfastError } from '../kernel/error.ts';
import { type GraphqlDocument, isMutation, KEY_MISSING_MESSAGE } from './mutation.ts';

/** How mutations are guarded. `commit` does not exist here: a reply is made of all fields, after the last of them. */
export type GraphqlOptions = Omit<RouteOptions<Request>, 'atomic' | 'compare'>;

/** A plugin of GraphQL Yoga 5. */
export interface GraphqlIdempotency {
  onRequest(event: {
    readonly request: Request;
    readonly fetchAPI: { readonly Request: typeof Request };
    readonly setRequest: (request: Request) => void;
    readonly endResponse: (response: Response) => void;
  }): Promise<void>;
  onExecute(event: {
    readonly args: {
      readonly document: GraphqlDocument;
      readonly operationName?: string | null | undefined;
      readonly contextValue: { readonly request?: Request };
    };
    readonly setResultAndStopExecution: (result: unknown) => void;
  }): void;
  onResponse(event: {
    readonly request: Request;
    readonly response: Response;
    readonly setResponse: (response: Response) => void;
  }): Promise<void>;
}

const runs = new WeakMap<Request, HttpRun<unknown>>();

/**
 * Guards mutations: `createYoga({ schema, plugins: [idempotent(idem, { person: (request) => … })] })`. The key travels as the HTTP
 * header. One request under one key is one unit, however many mutations it holds: they run once, and a repetition gets the same
 * reply. Requests with a key are guarded whatever they ask for; mutations without one are refused, unless `required` is false.
 */
export function idempotent<Tx>(idempotency: Idempotency<Tx>, options: GraphqlOptions): GraphqlIdempotency {
  const { required = true, maxRequestBytes = 10 * MEBIBYTE } = options;
  // Whether a request without a key holds a mutation is known when it has been parsed.
  const gate = httpGate<Request, Tx>('idempotent()', idempotency, { ...options, required: false });
  return {
    onRequest: async ({ request, fetchAPI, setRequest, endResponse }) => {
      let again = request;
      const facts = factsWithBody(request, async () => {
        // A copy of a request of Yoga shares its body, so what was read is put into a new one.
        const bytes = await readBytes(request, maxRequestBytes);
        if (bytes === undefined) return { kind: 'too-large' };
        const { url, method, headers, signal } = request;
        again = new fetchAPI.Request(url, { method, headers, signal, body: bytes });
        setRequest(again);
        return bytesFacts(bytes, headers.get('content-type') ?? '');
      });
      const entry = await gate.enter(request, facts, request.signal);
      if (entry.kind === 'answer') endResponse(toResponse(entry.reply));
      if (entry.kind === 'run') runs.set(again, entry.run);
    },
    onExecute: ({ args, setResultAndStopExecution }) => {
      const { request } = args.contextValue;
      const isFree = !required || !isMutation(args.document, args.operationName) || request === undefined;
      if (!isFree && !runs.has(request) && !request.headers.has('idempotency-key'))
        setResultAndStopExecution(KEY_MISSING);
    },
    onResponse: async ({ request, response, setResponse }) => {
      const run = runs.get(request);
      if (run !== undefined) setResponse(await finishWithResponse(run, response, request.signal));
    },
  };
}

/** The run that a request belongs to: its signal, its number, and keys for calls to others. Throws `IDEMPOTENCY_NO_RUN`. */
export function runOf(request: Request): RunFacts {
  const run = runs.get(request);
  if (run === undefined) throw new HoldfastError('IDEMPOTENCY_NO_RUN', {});
  return run;
}

const KEY_MISSING = {
  errors: [{ message: KEY_MISSING_MESSAGE, extensions: { code: 'IDEMPOTENCY_KEY_MISSING', http: { status: 400 } } }],
};
