import type { TenantDeliveries } from '../delivery/tenant-view.ts';
import type { Scope } from '../delivery/secrets.ts';
import type { HeaderMap } from './message-headers.ts';

/** What is allowed here. */
export interface ApiLimits {
  readonly maxBodyBytes: number;
  readonly maxBatchBytes: number;
  readonly maxBatch: number;
  readonly maxDelayMs: number;
  readonly maxParallelism: number;
}

/** How many deliveries this process may have on their way at once, and has. */
export interface Activity {
  readonly most: number;
  readonly now: number;
}

/** One request, known and allowed. */
export interface ApiCall {
  /** Those of the token's tenant; changes are audited as the token's. */
  readonly deliveries: TenantDeliveries;
  readonly limits: ApiLimits;
  readonly activity: () => Activity;
  readonly nowMs: number;
  /** Of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** What `*` stands for, and the query, as they stood on the request line. */
  readonly rest: string;
  readonly rawQuery: string | undefined;
  readonly query: URLSearchParams;
  readonly headers: HeaderMap;
  readonly callerIp: string | undefined;
  /** The token stood in the query: settings may stand there too. */
  readonly isTokenInQuery: boolean;
  /** The whole body; refused with 413 where it is larger. */
  bytes(mostBytes: number): Promise<Uint8Array>;
}

/** What is answered: JSON, 200 unless it says otherwise. */
export interface ApiAnswer {
  readonly status?: number;
  readonly value: unknown;
}

/** One route. */
export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below `/v2/`. `:name` is one part, `+name` one or more, both decoded; `*` is all that is left, as it is. */
  readonly path: string;
  readonly scope: Scope;
  /** Which `Upstash-…` headers belong here. Default: none, and a request that has one is refused. */
  readonly takes?: 'message' | 'replay-settings';
  run(call: ApiCall): Promise<ApiAnswer>;
}

/** Done, and there is nothing to say. Clients read JSON everywhere. */
export const DONE: ApiAnswer = { value: {} };
