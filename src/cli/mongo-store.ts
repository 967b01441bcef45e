import { mongoOperator, type MongoDatabase } from '../mongodb/index.ts';
import { withinLimit } from '../postgres/driver/time-limit.ts';
import type { Operator } from '../operator/operator.ts';
import { systemEffects } from '../system/effects.ts';
import { CliError } from './cli-error.ts';
import type { DatabaseTarget } from './database-target.ts';
import { importPackage } from './import-package.ts';

/** A MongoDB that a command works on. */
export interface MongoStore {
  readonly target: DatabaseTarget;
  readonly operator: Operator;
  /** Asks the server for nothing but an answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface MongoClient {
  db(name: string): MongoDatabase<unknown> & { command(command: object): Promise<unknown> };
  close(): Promise<void>;
}

interface MongoModule {
  readonly MongoClient?: new (url: string, options: object) => MongoClient;
  readonly default?: { readonly MongoClient: new (url: string, options: object) => MongoClient };
}

const GOODBYE_MS = 1_000;

/** Opens the database with the driver of the user's project. Nothing is sent yet. */
export async function openMongoStore(target: DatabaseTarget, cwd: string, version: string): Promise<MongoStore> {
  const module = (await importPackage('mongodb', cwd)) as MongoModule | undefined;
  const Client = module?.MongoClient ?? module?.default?.MongoClient;
  if (Client === undefined) throw new CliError('no MongoDB driver is installed here; run npm install mongodb');
  const client = new Client(target.url ?? '', {
    appName: 'holdfast-cli',
    maxPoolSize: 10,
    serverSelectionTimeoutMS: target.connectMs,
    connectTimeoutMS: target.connectMs,
  });
  const db = client.db(target.database);
  return {
    target,
    operator: mongoOperator({ db, answerTimeoutMs: target.statementMs, version }),
    ping: async () => void (await db.command({ ping: 1 })),
    // A server that has fallen silent says no goodbye; the end of the process is one.
    close: async () => withinLimit(systemEffects, client.close(), () => undefined, GOODBYE_MS).catch(() => undefined),
  };
}
