export { drizzleTx, type DrizzleLike } from './drizzle.ts';
export { knexTx, type KnexLike } from './knex.ts';
export { kyselyTx, type KyselyLike, type KyselyTransactionLike } from './kysely.ts';
export { mikroOrmTx, type MikroOrmLike } from './mikro-orm.ts';
export type { PgPool } from './pooled.ts';
export { prismaTx, type PrismaLike } from './prisma.ts';
export { typeOrmTx, type TypeOrmLike } from './typeorm.ts';
