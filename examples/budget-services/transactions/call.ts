// node call.ts record <budget> <description> <cents> <key>   or   node call.ts budget <budget>
// A client of the service transactions for the command line.
import * as grpc from '@grpc/grpc-js';
import { type BudgetReply, Transactions } from './contract.ts';

const [, , verb, budgetId, description, cents, key] = process.argv;
const client = new Transactions(
  `127.0.0.1:${process.env['TRANSACTIONS_PORT'] || 3003}`,
  grpc.credentials.createInsecure(),
);

const metadata = new grpc.Metadata();
metadata.set('x-user', 'ada');
if (key !== undefined) metadata.set('idempotency-key', key);

if (verb === 'record') await call('record', { budgetId, description, amountCents: Number(cents) });
else if (verb === 'budget') await call('getBudget', { budgetId });
else console.error('record <budget> <description> <cents> <key>, or budget <budget>');
client.close();

type Method = (
  request: object,
  metadata: grpc.Metadata,
  done: grpc.requestCallback<BudgetReply>,
) => grpc.ClientUnaryCall;

function call(name: string, request: object): Promise<void> {
  return new Promise((resolve) => {
    let replayed = '';
    const sent = (client[name] as Method).call(client, request, metadata, (error, reply) => {
      if (error) {
        console.error(`${grpc.status[error.code]}: ${error.details}`);
        process.exitCode = 1;
      } else console.log(JSON.stringify(reply) + replayed);
      resolve();
    });
    sent.on('metadata', (got) => {
      if (got.get('idempotent-replayed')[0] === 'true') replayed = '  (replayed)';
    });
  });
}
