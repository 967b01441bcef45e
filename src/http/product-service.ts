import { OptionCheck } from '../kernel/check-options.ts';
import type { StandardSchema } from '../kernel/standard-schema.ts';
import type { CallOptions } from './call-options.ts';
import type { ServiceClientOptions } from './client-options.ts';
import { type Health, probeHealth, type ProbeOptions } from './probe-health.ts';
import type { HttpMethod, HttpRequest } from './request-options.ts';
import { requireObject } from './require-object.ts';
import { type HttpResult, serviceClient } from './service-client.ts';

/** One thing a service can do. A path that depends on ids is a function of them; encode them with the `path` template. */
export interface Endpoint {
  readonly path: string | ((params: never) => string);
  /** Default: `POST` when called with `json`, else `GET`. */
  readonly method?: HttpMethod;
  readonly schema?: StandardSchema;
  readonly timeoutMs?: number;
  /** Says that two of these calls have the effect of one, although it is a POST or PATCH. */
  readonly repeatable?: boolean;
}

type AnyCall = CallOptions & Pick<HttpRequest, 'query' | 'json' | 'headers'>;

/** What a call of an endpoint takes: `params` if its path is a function, and what any request takes. */
export type EndpointCall<E extends Endpoint> = AnyCall &
  (E['path'] extends (params: infer P) => string ? { readonly params: P } : { readonly params?: undefined });

type CallArguments<E extends Endpoint> = E['path'] extends string ? [call?: EndpointCall<E>] : [call: EndpointCall<E>];

/** What an endpoint answers: what its schema makes of it, or `unknown`. */
export type EndpointData<E extends Endpoint> = E['schema'] extends StandardSchema<infer T> ? T : unknown;

/** A service of your own, by its endpoints. */
export interface ProductService<E extends Readonly<Record<string, Endpoint>>> {
  /** Calls an endpoint; the operation in logs and errors is `<name>.<endpoint>`. Rejects as `ServiceClient.request` does. */
  call<K extends keyof E & string>(endpoint: K, ...call: CallArguments<E[K]>): Promise<HttpResult<EndpointData<E[K]>>>;
  /** See `probeHealth`; the operation is `<name>.health`. */
  health(options?: ProbeOptions): Promise<Health>;
}

/** What `productService` takes: the options of `serviceClient`, the service's name and its endpoints. */
export interface ProductServiceOptions<E extends Readonly<Record<string, Endpoint>>> extends ServiceClientOptions {
  /** Stands in front of every operation. */
  readonly name: string;
  readonly endpoints: E;
}

/** A typed client of one of your own services: its endpoints written down once, with their schemas. */
export function productService<const E extends Readonly<Record<string, Endpoint>>>(
  options: ProductServiceOptions<E>,
): ProductService<E> {
  requireObject('productService()', 'options', options, 'pass an object with name, baseUrl and endpoints');
  const { name, endpoints, ...rest } = options;
  const check = new OptionCheck('productService()');
  if (typeof name !== 'string' || name === '') check.refuse('name', name, "name the service, for example 'billing'");
  if (typeof endpoints !== 'object' || endpoints === null) check.refuse('endpoints', endpoints, 'write its endpoints');
  check.done();
  const client = serviceClient(rest);
  return {
    async call(endpoint, ...[call]) {
      // The type of `params` follows from the type of `path`; here both are erased.
      const { params, ...request } = (call ?? {}) as AnyCall & { readonly params?: unknown };
      const { path, timeoutMs, ...how } = findEndpoint(endpoints, endpoint);
      const target = typeof path === 'function' ? path(params as never) : path;
      const bound = request.timeoutMs ?? timeoutMs;
      const operation = `${name}.${endpoint}`;
      return client.request({ ...how, ...request, operation, path: target, timeoutMs: bound }) as Promise<
        HttpResult<never>
      >;
    },
    health: (probe = {}) => probeHealth(client, { operation: `${name}.health`, ...probe }),
  };
}

function findEndpoint(endpoints: Readonly<Record<string, Endpoint>>, name: string): Endpoint {
  const endpoint = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined;
  if (endpoint) return endpoint;
  const check = new OptionCheck('call()');
  check.known({ [name]: undefined }, Object.keys(endpoints));
  check.done();
  throw new TypeError('unreachable: an endpoint that is not there was refused');
}
