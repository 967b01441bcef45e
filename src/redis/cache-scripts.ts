import { Script } from './script-runner.ts';

/** Key: the reply. */
export const CACHE_GET: Script = new Script(`return redis.call('GET', KEYS[1])`);

/** Keys: the reply, the mark that its person was erased. Arguments: the time to live; what is kept, as one text. */
export const CACHE_PUT: Script = new Script(`
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
return 1
`);

/**
 * Keys: the mark, and what the replies of the person begin with. Arguments: how long the mark stays, a cursor, how many keys to look
 * at. Answers the next cursor. The pattern is made from a key, because a client may put a prefix before keys and nothing else.
 */
export const CACHE_ERASE: Script = new Script(`
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
local pattern = string.gsub(KEYS[2], '[%*%?%[%]%^\\\\]', '\\\\%0') .. '*'
local page = redis.call('SCAN', ARGV[2], 'MATCH', pattern, 'COUNT', ARGV[3])
for _, key in ipairs(page[2]) do redis.call('DEL', key) end
return page[1]
`);
