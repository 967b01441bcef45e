import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Holdfast } from 'holdfast';
import type { FactRecorder, postgresOperator } from 'holdfast/postgres';
import type { OperatorServer } from 'holdfast/server';
import type { RelayMetrics } from 'holdfast/telemetry';
import type { Pool, PoolClient } from 'pg';
import { readJson } from '../local-page/read-json.ts';
import { answerRoute, type HttpExchange, type Route, sendJson, sendProblem, targetOf } from '../local-page/routes.ts';
import { staticFiles } from '../local-page/static-files.ts';
import type { LiveState } from './live-state.ts';
import { type Checked, checkOrder, checkRate, checkReason } from './order-input.ts';
import { placeOrder } from './place-order.ts';
import type { ShopReader } from './shop-state.ts';

/** What the routes work with. */
export interface Shop {
  readonly pool: Pool;
  readonly hf: Holdfast<PoolClient>;
  readonly operator: ReturnType<typeof postgresOperator>;
  readonly reader: ShopReader;
  readonly live: LiveState;
  readonly metrics: Pick<RelayMetrics, 'listener'>;
  readonly facts: Pick<FactRecorder, 'request'>;
  /** The console. */
  readonly ops: Pick<OperatorServer, 'listener'>;
}

/** Where the console is. */
export const CONSOLE_PATH = '/console';

type Exchange = Shop & HttpExchange;

const MAX_BODY_BYTES = 16 * 1024;

const ROUTES: readonly Route<Exchange>[] = [
  { method: 'POST', path: /^\/orders$/, answer: postOrder },
  { method: 'GET', path: /^\/orders$/, answer: getOrders },
  { method: 'GET', path: /^\/live$/, answer: ({ live, response }) => live.follow(response) },
  { method: 'GET', path: /^\/messages\/([^/]+)$/, answer: getMessage },
  { method: 'POST', path: /^\/dead-letters\/([^/]+)\/replay$/, answer: postReplay },
  { method: 'POST', path: /^\/dead-letters\/([^/]+)\/discard$/, answer: postDiscard },
  { method: 'PUT', path: /^\/rates\/([A-Z]{3})$/, answer: putRate },
  { method: 'GET', path: /^\/healthz$/, answer: getHealth },
  {
    method: 'GET',
    path: /^\/metrics$/,
    answer: ({ metrics, request, response }) => metrics.listener(request, response),
  },
];

const findStaticFile = staticFiles(fileURLToPath(new URL('page/', import.meta.url)));

/** Answers one HTTP request: the console, a route of the shop, else a file of the page, else 404. */
export async function answerHttp(exchange: Exchange): Promise<void> {
  const { request, response, ops } = exchange;
  const path = targetOf(request)?.pathname;
  if (path === CONSOLE_PATH || path?.startsWith(`${CONSOLE_PATH}/`) === true) return ops.listener(request, response);
  return answerRoute(exchange, ROUTES, findStaticFile);
}

async function postOrder(exchange: Exchange): Promise<void> {
  const { response, pool, hf, live, facts } = exchange;
  const body = await readBody(exchange, checkOrder);
  if (body === undefined) return;
  const requestId = `req-${randomUUID()}`;
  const began = performance.now();
  const { order, messageId } = await placeOrder(pool, hf, body, { requestId });
  live.changed();
  const latencyMs = Math.round(performance.now() - began);
  facts.request({ operation: 'POST /orders', requestId, userId: order.email, httpStatus: 201, latencyMs });
  sendJson(response, 201, { orderId: order.orderId, number: order.number, messageId });
}

async function getOrders({ response, reader }: Exchange): Promise<void> {
  sendJson(response, 200, await reader.read());
}

async function getMessage({ response, operator }: Exchange, id: string): Promise<void> {
  const found = await operator.show(id);
  if (found.kind === 'bad-id') return sendProblem(response, 400, found.problem);
  if (found.kind === 'not-found') return sendProblem(response, 404, `there is no message ${id}`);
  const [why, forecast] = await Promise.all([operator.why(id), operator.forecast(id)]);
  sendJson(response, 200, { message: found.message, why, forecast });
}

async function postReplay(exchange: Exchange, id: string): Promise<void> {
  const body = await readBody(exchange, checkReason);
  if (body === undefined) return;
  sendOutcome(exchange, id, await exchange.operator.replay(id, { actor: 'order page', reason: body.reason }));
}

async function postDiscard(exchange: Exchange, id: string): Promise<void> {
  const body = await readBody(exchange, checkReason);
  if (body === undefined) return;
  sendOutcome(exchange, id, await exchange.operator.discard(id, { actor: 'order page', reason: body.reason }));
}

function sendOutcome({ response, live }: Exchange, id: string, outcome: { readonly kind: string }): void {
  live.changed();
  if (outcome.kind === 'replayed' || outcome.kind === 'discarded') return sendJson(response, 200, outcome);
  if (outcome.kind === 'bad-id') return sendProblem(response, 400, `${id} is not the id of a dead letter`);
  if (outcome.kind === 'not-found') return sendProblem(response, 404, `there is no dead letter ${id}`);
  sendProblem(response, 409, `nothing was changed: ${outcome.kind}`);
}

async function putRate(exchange: Exchange, currency: string): Promise<void> {
  const body = await readBody(exchange, checkRate);
  if (body === undefined) return;
  const { pool, live, response } = exchange;
  await (body.euro === null
    ? pool.query('delete from shop.rate where currency = $1', [currency])
    : pool.query('insert into shop.rate values ($1, $2) on conflict (currency) do update set euro = excluded.euro', [
        currency,
        body.euro,
      ]));
  live.changed();
  sendJson(response, 200, { currency, euro: body.euro });
}

async function getHealth({ response, pool }: Exchange): Promise<void> {
  try {
    await pool.query('select 1');
    sendJson(response, 200, { status: 'ok' });
  } catch {
    sendJson(response, 503, { status: 'unavailable', problem: 'the database does not answer' });
  }
}

/** The body, checked; or nothing, when the client was told what is wrong with it. */
async function readBody<T>(
  { request, response }: Exchange,
  check: (body: unknown) => Checked<T>,
): Promise<T | undefined> {
  const body = await readJson(request, MAX_BODY_BYTES);
  if (!body.ok) {
    sendProblem(response, body.status, body.problem);
    return undefined;
  }
  const checked = check(body.value);
  if (checked.ok) return checked.value;
  sendProblem(response, 400, checked.problem);
  return undefined;
}
