import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** What `Record` takes, as JavaScript has it. */
export interface RecordRequest {
  readonly budgetId: string;
  readonly description: string;
  readonly amountCents: number;
}

/** What `GetBudget` answers. */
export interface BudgetReply {
  readonly budgetId: string;
  readonly spentCents: number;
  readonly transactions: number;
}

/** The service of transactions.proto. Numbers are numbers: cents stay far below what they can hold. */
export const Transactions: grpc.ServiceClientConstructor = load();

function load(): grpc.ServiceClientConstructor {
  const file = fileURLToPath(new URL('transactions.proto', import.meta.url));
  const loaded = grpc.loadPackageDefinition(loadSync(file, { longs: Number, defaults: true }));
  return (loaded['budget'] as grpc.GrpcObject)['Transactions'] as grpc.ServiceClientConstructor;
}
