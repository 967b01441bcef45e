// The module that the command line is given: a service whose messages go through a Redis, and which ships what it is told to.
import { event, holdfast } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { redisStreams } from 'holdfast/redis';
import { Redis } from 'ioredis';
import { Pool } from 'pg';

export const orderPlaced = event<{ order: string; n: number }, { order: string; n: number }>('order.placed', {
  key: ({ order }) => order,
});

const schema = process.env['HOLDFAST_SCHEMA'];
const pool = new Pool({ connectionString: process.env['HOLDFAST_DATABASE_URL'] });
const client = new Redis({
  port: Number(process.env['SHOP_REDIS_PORT']),
  lazyConnect: true,
  maxRetriesPerRequest: 1,
  retryStrategy: () => 50,
});
client.on('error', () => undefined);

export const hf = holdfast({ service: 'shop', store: postgres({ pool, schema }), transport: redisStreams({ client }) });

hf.on(orderPlaced, 'ship', async ({ order, n }, ctx) => {
  await ctx.commit((tx) => tx.query(`insert into ${schema}.shipped (order_id, n) values ($1, $2)`, [order, n]));
});
