import * as grpc from '@grpc/grpc-js';
import type { Tracer } from '@opentelemetry/api';
import type { Holdfast } from 'holdfast';
import { runOf, serverInterceptor } from 'holdfast/grpc';
import type { Idempotency } from 'holdfast/idempotency';
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import { type BudgetReply, type RecordRequest, Transactions } from './contract.ts';
import { callSpans } from './grpc-server-span.ts';
import { recordTransaction } from './record-transaction.ts';
import { TransactionInput } from './transaction-input.ts';

/** What the API works with. */
export interface GrpcApiParts {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
  readonly keys: Idempotency<PoolClient>;
  readonly tracer: Tracer;
}

const INTERNAL: number = grpc.status.INTERNAL;

/** `budget.Transactions`; `Record` once for each `idempotency-key`: transaction, message and reply are one commit. */
export function grpcApi({ hf, pool, keys, tracer }: GrpcApiParts): grpc.Server {
  const guard = serverInterceptor(grpc, keys, {
    services: [Transactions.service],
    methods: ['/budget.Transactions/Record'],
    person: (metadata) => String(metadata.get('x-user')[0] ?? ''),
    keyFormat: 'uuid-v4',
    // All it does is one commit: a run that was lost or failed has done nothing, and may run again.
    unknown: 'rerun',
    keep: ({ code }) => (code === INTERNAL ? 'release' : 'keep'),
  });
  const server = new grpc.Server({ interceptors: [callSpans(tracer), guard] });
  server.addService(Transactions.service, {
    record: answering(async ({ request, metadata }: grpc.ServerUnaryCall<RecordRequest, object>) => {
      const input = TransactionInput.safeParse(request);
      if (!input.success) throw new Refused(grpc.status.INVALID_ARGUMENT, z.prettifyError(input.error));
      return runOf<PoolClient>(metadata).commit(async (tx) => ({
        transactionId: await recordTransaction(tx, hf, input.data),
      }));
    }),
    getBudget: answering(async ({ request }: grpc.ServerUnaryCall<{ budgetId: string }, object>) => {
      const { rows } = await pool.query<BudgetReply>(
        `select spent_cents::int as "spentCents", transactions::int from budget_transactions.budget where budget_id = $1`,
        [request.budgetId],
      );
      return { spentCents: 0, transactions: 0, ...rows[0], budgetId: request.budgetId };
    }),
  });
  return server;
}

/** A call that cannot be done, and why. */
class Refused extends Error {
  readonly code: grpc.status;

  constructor(code: grpc.status, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a method answers, or the status it ends with. */
function answering<Request, Reply>(
  method: (call: grpc.ServerUnaryCall<Request, Reply>) => Promise<Reply>,
): grpc.handleUnaryCall<Request, Reply> {
  const answer = async (call: grpc.ServerUnaryCall<Request, Reply>, done: grpc.sendUnaryData<Reply>): Promise<void> => {
    try {
      done(null, await method(call));
    } catch (error) {
      if (error instanceof Refused) return done({ code: error.code, details: error.message });
      console.error(error);
      done({ code: grpc.status.INTERNAL, details: 'it failed; the log says why' });
    }
  };
  return (call, done) => void answer(call, done);
}
