import type { PolicyLookup } from '../operator/forecast.ts';
import type { By, Operator, PayloadMatch } from '../operator/operator.ts';
import type { ShownDeliveries } from './redacted-deliveries.ts';
import type { AnySchema, Fields, Schema, TypeOf } from './schema.ts';

/** Who may: a viewer reads, an operator also deals with what failed, an admin also changes what is sent and who is served. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** True when `role` may do what `needed` may. */
export function mayAs(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** What fields have once they are read. */
type Values<F extends Fields> = { readonly [K in keyof F]: TypeOf<F[K]> };

/** One request, read and allowed. */
export interface Call<Q extends Fields = Fields, B extends Fields = Fields> {
  /** Hides what this caller may not see. */
  readonly operator: Operator;
  /** Of the path, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Values<Q>;
  /** `payload.<path>=<value>` of the query; absent where none was given. */
  readonly payload: readonly PayloadMatch[] | undefined;
  readonly body: Values<B>;
  /** Who, and the body's `reason`. */
  readonly by: By;
  readonly policyOf: PolicyLookup | undefined;
  /** The same for deliveries; there on their routes, which are there only with it. */
  readonly deliveries: ShownDeliveries;
}

/** One route of the API: all that routing, checks, the OpenAPI document and the remote operator need to know. */
export interface Route {
  /** Its `operationId`. */
  readonly id: string;
  readonly method: 'GET' | 'POST';
  /** Below the base path; `:name` is a parameter. */
  readonly path: string;
  readonly role: Role;
  /** A higher role that the body asks for. */
  readonly roleFor: ((body: Readonly<Record<string, unknown>>) => Role) | undefined;
  readonly summary: string;
  readonly query: Fields;
  /** Takes `payload.<path>=<value>` as well. */
  readonly takesPayload: boolean;
  /** Absent: it takes none. */
  readonly body: Fields | undefined;
  readonly answer: AnySchema;
  /** Kinds of the answer that are refusals here, besides those that are everywhere. */
  readonly refusals: readonly string[];
  run(call: Call): Promise<unknown>;
}

/** What `get` and `post` take; what is left out is not there. */
export interface RouteDefinition<Q extends Fields, B extends Fields, A> {
  readonly id: string;
  readonly path: string;
  readonly role?: Role;
  readonly roleFor?: (body: Values<B>) => Role;
  readonly summary: string;
  readonly query?: Q;
  readonly takesPayload?: boolean;
  readonly body?: B;
  readonly answer: Schema<A>;
  readonly refusals?: readonly string[];
  readonly run: (call: Call<Q, B>) => Promise<A>;
}

/** A route that takes none. */
type NoFields = Readonly<Record<string, never>>;

/** A route that reads. For viewers unless it says otherwise. */
export function get<A, Q extends Fields = NoFields>(definition: RouteDefinition<Q, NoFields, A>): Route {
  return routeOf('GET', 'viewer', definition, undefined);
}

/** A route that changes something. For operators unless it says otherwise. */
export function post<A, B extends Fields = NoFields>(definition: RouteDefinition<NoFields, B, A>): Route {
  return routeOf('POST', 'operator', definition, definition.body ?? {});
}

function routeOf<Q extends Fields, B extends Fields, A>(
  method: Route['method'],
  role: Role,
  definition: RouteDefinition<Q, B, A>,
  body: Fields | undefined,
): Route {
  return {
    method,
    role,
    query: {},
    takesPayload: false,
    refusals: [],
    ...definition,
    roleFor: definition.roleFor as Route['roleFor'],
    body,
    run: definition.run,
  };
}
