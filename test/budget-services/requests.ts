import { randomBytes, randomUUID } from 'node:crypto';
import * as grpc from '@grpc/grpc-js';
import { type BudgetReply, Transactions } from '../../examples/budget-services/transactions/contract.ts';
import type { Budget } from './shared-budget.ts';

/** Where its processes listen. */
type Ports = Pick<Budget, 'ports'>;

/** What a request brought back, in the words of all protocols. */
export interface Told {
  /** Of HTTP, or of gRPC. */
  readonly status: number;
  readonly isReplay: boolean;
  readonly text: string;
}

/** A request of one protocol that can be sent again as it is. */
export interface Sent {
  readonly traceId: string;
  /** The span of the client, which is the parent of everything. */
  readonly spanId: string;
  /** Once more; with another amount it is another request. */
  send(amountCents?: number): Promise<Told>;
  /** Once more, to the processes of another. */
  sendTo(other: Ports): Promise<Told>;
}

type Protocol = 'REST' | 'REST expense' | 'REST transaction' | 'GraphQL' | 'gRPC';

/** A request to write something of 100 cents into a budget. */
export function requestOf(budget: Ports, protocol: Protocol, budgetId: string, category = 'office'): Sent {
  const [key, traceId, spanId] = [randomUUID(), randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const headers = { 'x-user': 'ada', 'idempotency-key': key, traceparent: `00-${traceId}-${spanId}-01` };
  const sendTo = ({ ports }: Ports, amountCents = 100): Promise<Told> => {
    if (protocol === 'gRPC') return record({ ports }, headers, { budgetId, description: 'pen', amountCents });
    if (protocol === 'REST') {
      const body = { budgetId, category, item: 'pen', amountCents };
      return post(`http://127.0.0.1:${ports.orders}/api/orders`, headers, body);
    }
    const description = 'pen';
    if (protocol === 'REST expense') {
      const body = { budgetId, category, description, amountCents };
      return post(`http://127.0.0.1:${ports.expenses}/api/expenses`, headers, body);
    }
    if (protocol === 'REST transaction') {
      const body = { budgetId, description, amountCents };
      return post(`http://127.0.0.1:${ports.transactionsRest}/api/transactions`, headers, body);
    }
    const added = `addExpense(budgetId: "${budgetId}", category: "${category}", description: "pen", amountCents: ${amountCents})`;
    return mutate({ ports }, `${added} { expenseId }`, headers);
  };
  return { traceId, spanId, sendTo, send: (amountCents) => sendTo(budget, amountCents) };
}

/** Sends a mutation. */
export function mutate(
  { ports }: Ports,
  mutation: string,
  headers: Readonly<Record<string, string>> = { 'x-user': 'ada', 'idempotency-key': randomUUID() },
): Promise<Told> {
  return post(`http://127.0.0.1:${ports.expenses}/graphql`, headers, { query: `mutation { ${mutation} }` });
}

/** What a budget has spent. */
export async function spentOf({ query }: Budget, budgetId: string): Promise<BudgetReply | undefined> {
  const [row] = await query<BudgetReply>(
    `select budget_id as "budgetId", spent_cents::int as "spentCents", transactions::int
     from budget_transactions.budget where budget_id = $1`,
    [budgetId],
  );
  return row;
}

async function post(url: string, headers: Readonly<Record<string, string>>, body: object): Promise<Told> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const isReplay = response.headers.get('idempotent-replayed') === 'true';
  return { status: response.status, isReplay, text: await response.text() };
}

type RecordCall = (
  request: object,
  metadata: grpc.Metadata,
  done: grpc.requestCallback<{ readonly transactionId: string }>,
) => grpc.ClientUnaryCall;

function record({ ports }: Ports, headers: Readonly<Record<string, string>>, request: object): Promise<Told> {
  const client = new Transactions(`127.0.0.1:${ports.transactions}`, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return new Promise((resolve) => {
    let isReplay = false;
    const call = (client['record'] as RecordCall).call(client, request, metadata, (error, reply) => {
      client.close();
      resolve({ status: error?.code ?? grpc.status.OK, isReplay, text: error?.details ?? JSON.stringify(reply) });
    });
    call.on('metadata', (got) => (isReplay = got.get('idempotent-replayed')[0] === 'true'));
  });
}
