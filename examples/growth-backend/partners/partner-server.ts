import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'holdfast';
import { readJson } from '../../local-page/read-json.ts';
import { sendJson, sendProblem, targetOf } from '../../local-page/routes.ts';
import { known } from '../correlation.ts';
import { madeBefore, type Partner, type PartnerAnswer, type PartnerRoute, refused } from './partner.ts';
import type { LedgerEntry, PartnerMemory } from './partner-memory.ts';
import { Trouble, Troubles } from './trouble.ts';

/** What a partner runs with. */
export interface PartnerServerOptions {
  readonly partner: Partner;
  readonly memory: PartnerMemory;
  /** What it wants to see. */
  readonly token: string;
  readonly logger: Logger;
}

interface Exchange extends PartnerServerOptions {
  readonly troubles: Troubles;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly startedMs: number;
}

const MAX_BODY_BYTES = 1_048_576;

/**
 * Serves a partner on this machine. Beside its own API it has `GET /__ledger`, what it was asked and what it did, and
 * `PUT /__trouble` and `DELETE /__trouble`, what is wrong with it from now on.
 */
export async function servePartner(options: PartnerServerOptions, port: number): Promise<Server> {
  const troubles = new Troubles();
  const server = createServer((request, response) => {
    answer({ ...options, troubles }, request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function answer(
  parts: PartnerServerOptions & { readonly troubles: Troubles },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedMs = performance.now();
  const { partner, troubles } = parts;
  const path = targetOf(request)?.pathname ?? '/';
  const body = request.method === 'GET' || request.method === 'DELETE' ? {} : await bodyOf(request, response);
  if (body === undefined) return;
  const exchange = { ...parts, request, response, path, body, startedMs };
  if (path.startsWith('/__')) return control(exchange);
  const route = partner.routes.find((one) => one.method === request.method && one.path.test(path));
  const isHealth = request.method === 'GET' && partner.health.test(path);
  const operation = isHealth ? 'health' : (route?.operation ?? 'unknown');
  const trouble = troubles.meet(operation);
  if (trouble?.kind === 'status') return reply(exchange, operation, refused(trouble.status, 'told to fail'), 'trouble');
  if (trouble?.kind === 'hang') return note(exchange, operation, 0, 'trouble');
  if (trouble?.kind === 'slow') await sleep(trouble.ms);
  if (isHealth) return reply(exchange, operation, { status: 200, json: { healthy: true }, outcome: 'said' });
  if (trouble?.kind === 'token' || !hasToken(exchange))
    return reply(exchange, operation, refused(401, 'the token is not valid'));
  if (route === undefined) return reply(exchange, operation, refused(404, `there is no ${request.method} ${path}`));
  const done = act(exchange, route);
  if (trouble?.kind !== 'lost') return reply(exchange, operation, done);
  note(exchange, operation, 0, 'lost');
  response.destroy();
}

/** Does it, or gives the first answer again to a key it has seen. */
function act({ request, path, body, memory }: Exchange, route: PartnerRoute): PartnerAnswer {
  const headers = headersOf(request);
  const names = (route.path.exec(path) ?? []).slice(1).map(decodeURIComponent);
  const key = headers['idempotency-key'];
  if (!route.honoursKeys || key === undefined) return route.answer({ names, headers, body, memory });
  const kept = memory.get(`key ${route.operation} ${key}`) as KeptReply | undefined;
  const asked = JSON.stringify(body);
  if (kept !== undefined && kept.asked !== asked) return refused(422, 'this key was used for another request');
  if (kept !== undefined) return madeBefore(kept.json, kept.status);
  const { status, json, outcome } = route.answer({ names, headers, body, memory });
  memory.set(`key ${route.operation} ${key}`, { asked, status, json } satisfies KeptReply);
  return { status, json, outcome };
}

interface KeptReply {
  readonly asked: string;
  readonly status: number;
  readonly json: object;
}

function control({ request, response, path, body, memory, troubles }: Exchange): void {
  if (path === '/__ledger' && request.method === 'GET') {
    const { asked } = memory;
    const count = (outcome: LedgerEntry['outcome']): number => asked.filter((one) => one.outcome === outcome).length;
    const counts = { asked: asked.length, did: count('did') + count('lost'), repeated: count('repeated') };
    return sendJson(response, 200, { ...counts, trouble: troubles.now ?? null, requests: asked });
  }
  if (path !== '/__trouble') return sendProblem(response, 404, 'there is /__ledger and /__trouble');
  if (request.method === 'DELETE') troubles.set(undefined);
  else {
    const trouble = Trouble.safeParse(body);
    if (!trouble.success) return sendProblem(response, 400, trouble.error.message);
    troubles.set(trouble.data);
  }
  sendJson(response, 200, { trouble: troubles.now?.trouble ?? null });
}

/** It is in the ledger before the caller knows. */
function reply(
  exchange: Exchange,
  operation: string,
  { status, json, outcome }: PartnerAnswer,
  noted: LedgerEntry['outcome'] = outcome,
): void {
  note(exchange, operation, status, noted);
  sendJson(exchange.response, status, json);
}

function note(exchange: Exchange, operation: string, status: number, outcome: LedgerEntry['outcome']): void {
  // Nothing was asked of it: probes come again and again.
  if (operation === 'health') return;
  const { request, path, memory, logger, startedMs } = exchange;
  const headers = headersOf(request);
  const { 'idempotency-key': idempotencyKey, 'x-request-id': requestId, 'x-growqr-user': user } = headers;
  const at = new Date().toISOString();
  if (headers['authorization'] !== undefined) headers['authorization'] = hasToken(exchange) ? 'as agreed' : 'another';
  const { method = 'GET' } = request;
  memory.ask({ at, operation, method, path, status, outcome, idempotencyKey, requestId, user, headers });
  const about = { requestId, userId: user, idempotencyKey, operation };
  const fields = { httpStatus: status, latencyMs: Math.round(performance.now() - startedMs), outcome };
  logger.info(known({ ...about, attempt: Number(headers['x-attempt'] ?? 1), ...fields }), 'request');
}

function hasToken({ partner, token, request }: Exchange): boolean {
  return request.headers.authorization === `${partner.scheme} ${token}`;
}

async function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const body = await readJson(request, MAX_BODY_BYTES);
  if (body.ok && typeof body.value === 'object') return (body.value ?? {}) as Readonly<Record<string, unknown>>;
  sendProblem(response, body.ok ? 400 : body.status, body.ok ? 'send an object' : body.problem);
  return undefined;
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
