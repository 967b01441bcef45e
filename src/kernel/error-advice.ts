/** How each client opens a transaction. */
export const OPEN_A_TRANSACTION: Readonly<Record<string, string>> = {
  pg: "await client.query('begin') first, and send before the commit",
  'pg-pool': "take a client of it: const tx = await pool.connect(); await tx.query('begin'); then pass tx",
  'postgres.js': 'pass the sql that sql.begin(async (sql) => …) hands to your function, and await everything inside',
  drizzle: 'pass the tx that db.transaction(async (tx) => …) hands to your function, and await everything inside',
  kysely:
    'pass the trx that db.transaction().execute(async (trx) => …) hands to your function, and await everything inside',
  knex: 'pass the trx that knex.transaction(async (trx) => …) hands to your function, and await everything inside',
  typeorm:
    'pass the manager that dataSource.transaction(async (manager) => …) hands to your function, and await everything inside',
  prisma:
    'pass the tx that prisma.$transaction(async (tx) => …) hands to your function, await everything inside, and give it a timeout that is long enough',
  'mikro-orm': 'pass the em that em.transactional(async (em) => …) hands to your function, and await everything inside',
  pglite: 'pass the tx that db.transaction(async (tx) => …) hands to your function, and await everything inside',
};

/** What a fault of the way to the database is laid to, and what to look at. */
export const FAULT_BLAMES: Readonly<Record<'run' | 'database' | 'capacity', string>> = {
  run: 'although the database was there for others: its connection was lost or could not be used any more; look at what its effect does to tx and to the server, then replay it',
  database: 'because the database was restarted, failed over or out of reach; see that it is well again',
  capacity:
    'because the database or the pool had no connection, disk or memory to give; see that handlers do not hold connections while they wait for ctx.commit',
};
