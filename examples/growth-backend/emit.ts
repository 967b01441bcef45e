// node examples/growth-backend/emit.ts '<event as JSON>': writes a canonical event into the stream, as another service does.
import { Redis } from 'ioredis';
import { GROW_STREAM } from './events/grow-stream.ts';

const [, , event = ''] = process.argv;
const { REDIS_URL = '', GROWTH_PREFIX = '' } = process.env;
if (event === '' || REDIS_URL === '') {
  console.error(`set REDIS_URL, then: node emit.ts '{"type":"interview-completed",…}'`);
  process.exit(1);
}
const redis = new Redis(REDIS_URL);
const text = JSON.stringify(JSON.parse(event));
console.log(await redis.xadd(GROWTH_PREFIX + GROW_STREAM, '*', 'event', text));
redis.disconnect();
