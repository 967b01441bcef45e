import type { LedgerEntry, PartnerMemory } from './partner-memory.ts';

/** One request to a partner, its body read. */
interface PartnerCall {
  /** What the groups in the path of its route matched. */
  readonly names: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly memory: PartnerMemory;
}

/** What a partner answers, and what it did for it. */
export interface PartnerAnswer {
  readonly status: number;
  readonly json: object;
  readonly outcome: Exclude<LedgerEntry['outcome'], 'trouble' | 'lost'>;
}

/** One thing that can be asked of a partner. */
export interface PartnerRoute {
  readonly operation: string;
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** Requests with a key it has seen get the first answer again. What is created if absent has no need of that. */
  readonly honoursKeys: boolean;
  readonly answer: (call: PartnerCall) => PartnerAnswer;
}

/** A service of somebody else, as far as the backend uses it. */
export interface Partner {
  /** The word before the token. */
  readonly scheme: 'Bearer' | 'token';
  /** Answers without a token. */
  readonly health: RegExp;
  readonly routes: readonly PartnerRoute[];
}

/** It made something that stays. */
export function made(json: object, status = 201): PartnerAnswer {
  return { status, json, outcome: 'did' };
}

/** It had been made before. */
export function madeBefore(json: object, status = 200): PartnerAnswer {
  return { status, json, outcome: 'repeated' };
}

/** It was looked up. */
export function found(json: object): PartnerAnswer {
  return { status: 200, json, outcome: 'said' };
}

export function refused(status: number, message: string): PartnerAnswer {
  return { status, json: { message }, outcome: 'refused' };
}

export function text(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}
