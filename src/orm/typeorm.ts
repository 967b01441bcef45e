import type { TransactionAdapter, Within } from '../postgres/transaction-adapter.ts';
import { EnclosedClient } from './enclosed-client.ts';
import { checkPgPool, type PgPool } from './pooled.ts';

/** What we use of a data source of TypeORM. */
export interface TypeOrmLike<Manager> {
  readonly driver: object;
  createEntityManager(): Manager & { transaction<T>(work: (manager: Manager) => Promise<T>): Promise<T> };
}

/**
 * Handlers get an `EntityManager` of TypeORM: `wrap: typeOrmTx(dataSource)`, with one that is initialized before the first
 * message is handled. Its `manager.transaction()` is a savepoint, and its `manager.dataSource` reaches nothing but this transaction.
 */
export function typeOrmTx<Manager>(source: TypeOrmLike<Manager>): TransactionAdapter<PgPool, Manager> {
  const over = (pool: PgPool): Within<Manager> => {
    checkPgPool('typeOrmTx()', pool);
    return async (native, work) => {
      const enclosed = new EnclosedClient(native as object);
      const manager = bound(source, enclosed.client).createEntityManager();
      return enclosed.run((inside) => manager.transaction(inside), work);
    };
  };
  return { over };
}

/** The same data source, whose driver has one connection, whoever asks. */
function bound<Manager>(source: TypeOrmLike<Manager>, client: object): TypeOrmLike<Manager> {
  const obtain = async (): Promise<[object, () => void]> => [client, () => undefined];
  const driver: object = Object.create(source.driver, {
    obtainMasterConnection: { value: obtain },
    obtainSlaveConnection: { value: obtain },
    connectedQueryRunners: { value: [] },
    dataSource: { get: () => one },
  }) as object;
  const one = Object.create(source, { driver: { value: driver } }) as TypeOrmLike<Manager>;
  Object.defineProperty(one, 'manager', { value: one.createEntityManager() });
  return one;
}
