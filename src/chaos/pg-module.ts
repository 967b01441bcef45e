import type { Client, ClientConfig, Pool, PoolConfig } from 'pg';

interface PgModule {
  readonly Client: new (options: ClientConfig) => Client;
  readonly Pool: new (options: PoolConfig) => Pool;
}

/** Loads `pg` from where it is. */
export async function importPg(file: string): Promise<PgModule> {
  const module = (await import(file)) as Partial<PgModule> & { readonly default: PgModule };
  return module.Pool === undefined ? module.default : (module as PgModule);
}
