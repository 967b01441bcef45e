import { trace } from '@opentelemetry/api';
import { mongoInbox, type MongoInbox, mongoOutbox, type MongoOutbox } from 'holdfast/mongodb';
import { traceSends } from 'holdfast/telemetry';
import { type ClientSession, type Db, MongoClient } from 'mongodb';
import { sevenTries } from '../parts/seven-tries.ts';
import type { Settings } from '../parts/settings.ts';
import { type ExpenseCollections, expenseCollections } from './expense-collections.ts';

/** The service expenses: its MongoDB, what it sends, and what it takes in. */
export interface ExpenseService {
  readonly client: MongoClient;
  readonly db: Db;
  readonly collections: ExpenseCollections;
  readonly outbox: MongoOutbox<ClientSession>;
  readonly inbox: MongoInbox<ClientSession>;
}

/** Ties the service to its database. It starts nothing. */
export function expenseService({ mongodbUrl, speed }: Settings): ExpenseService {
  const client = new MongoClient(mongodbUrl);
  const db = client.db();
  const service = 'expenses';
  return {
    client,
    db,
    collections: expenseCollections(db),
    outbox: mongoOutbox({ db, service, wrapSend: traceSends(trace.getTracer('holdfast')) }),
    inbox: mongoInbox({ db, service, policy: sevenTries(speed) }),
  };
}
