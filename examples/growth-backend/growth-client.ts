import { randomUUID } from 'node:crypto';
import type { ServicesHealth } from './api/service-health.ts';
import type { PartnerName, Settings } from './settings.ts';
import type { LedgerEntry } from './partners/partner-memory.ts';
import type { Trouble } from './partners/trouble.ts';

/** What a request to the API carries. */
export interface ApiRequest {
  readonly user?: string;
  readonly requestId?: string;
  readonly idempotencyKey?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the API answered. */
export interface ApiAnswer {
  readonly status: number;
  readonly requestId: string;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a partner was asked, and what it did. */
export interface Ledger {
  readonly asked: number;
  readonly did: number;
  readonly repeated: number;
  /** What is wrong with it now, and how many requests have met it. */
  readonly trouble: { readonly trouble: Trouble; readonly hits: number } | null;
  readonly requests: readonly LedgerEntry[];
}

/** What may be said of a trouble; see `Trouble`. */
export type GivenTrouble = Partial<Trouble> & Pick<Trouble, 'kind'>;

/** The API and the control routes of the partners, over HTTP, for who has the settings. */
export class GrowthClient {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.#settings.apiPort}`;
  }

  /** Asks the API in the name of a user. */
  async request(method: 'GET' | 'POST', path: string, request: ApiRequest = {}): Promise<ApiAnswer> {
    const { user = 'user_ada', requestId = randomUUID(), idempotencyKey, body } = request;
    const response = await fetch(this.apiUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#settings.a2aKey}`,
        'x-growqr-user': user,
        'x-request-id': requestId,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...request.headers,
      },
      ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, requestId, headers: response.headers, body: answer };
  }

  /** How the services are that the backend calls. */
  async servicesHealth(): Promise<ServicesHealth> {
    const { body } = await this.request('GET', '/services/health');
    return body['services'] as ServicesHealth;
  }

  ledger(partner: PartnerName): Promise<Ledger> {
    return this.#control(partner, 'GET', '/__ledger') as Promise<Ledger>;
  }

  /** Replaces what is wrong with a partner; without a trouble nothing is wrong any more. */
  async trouble(partner: PartnerName, trouble?: GivenTrouble): Promise<void> {
    await this.#control(partner, trouble === undefined ? 'DELETE' : 'PUT', '/__trouble', trouble);
  }

  async #control(partner: PartnerName, method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(this.#settings.partners[partner].origin + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (!response.ok) throw new Error(`${partner} answered ${response.status} to ${method} ${path}`);
    return response.json();
  }
}
