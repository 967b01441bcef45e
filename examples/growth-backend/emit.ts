// node examples/growth-backend/emit.ts '<event as JSON>': writes a canonical event into the stream, as another service does.
import { Redis } from 'ioredis';
import { reachRedis, reachServers } from '../local-processes/reach-server.ts';
import { GROW_STREAM } from './events/grow-stream.ts';

const [, , event = ''] = process.argv;
const { REDIS_URL = '', GROWTH_PREFIX = '' } = process.env;
try {
  if (event === '' || REDIS_URL === '')
    throw new Error(`set REDIS_URL, then: node emit.ts '{"type":"interview-completed",…}'`);
  const text = JSON.stringify(JSON.parse(event));
  await reachServers([{ server: 'Redis', variable: 'REDIS_URL', reach: () => reachRedis(REDIS_URL) }]);
  const redis = new Redis(REDIS_URL);
  console.log(await redis.xadd(GROWTH_PREFIX + GROW_STREAM, '*', 'event', text));
  redis.disconnect();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
