import { Script } from './script-runner.ts';

/*
 * A record is one value, packed by MessagePack: half the memory of a hash with these fields, and one write for each step. It carries
 * its own `expires`, because Redis removes a key only after that millisecond, and the value is asked for within it. Beside it there is
 * for each person a sorted set of ids by expiry, for erasing. Both lie in one hash slot.
 *
 * The rules are those of src/idempotency/record-rules.ts, line by line.
 */

const CLOCK = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function live(key)
  local packed = redis.call('GET', key)
  if not packed then return nil end
  local record = cmsgpack.unpack(packed)
  if record.expires <= now then return nil end
  return record
end
local function write(key, record)
  redis.call('SET', key, cmsgpack.pack(record), 'PX', math.ceil(record.expires - now))
end
local function open(record) return record.status == 'processing' or record.status == 'unknown' end
`;

// Every step of a run has the same keys and begins with the same arguments. A claim of nobody in particular has no second key.
const STEP = `${CLOCK}
local id, domain, person, fingerprint, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local leaseMs, keepMs = tonumber(ARGV[6]), tonumber(ARGV[7])
local function listed(record) return KEYS[2] and record.person == person end
local function save(record)
  write(KEYS[1], record)
  if not listed(record) then return end
  redis.call('ZADD', KEYS[2], record.expires, id)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  local left = math.ceil(record.expires - now)
  if redis.call('PTTL', KEYS[2]) < left then redis.call('PEXPIRE', KEYS[2], left) end
end
local function claimed(run, created)
  return { domain = domain, person = KEYS[2] and person, fingerprint = fingerprint, status = 'processing', owner = owner,
    run = run, lease = now + leaseMs, created = created, updated = now, expires = now + keepMs }
end
`;

/** Arguments: those of a step, whether to take over what is unknown. */
export const CLAIM: Script = new Script(`${STEP}
local record = live(KEYS[1])
if not record then
  save(claimed(1, now))
  return { 'claimed', 1 }
end
if record.fingerprint ~= fingerprint then return { 'mismatch' } end
if not open(record) then
  return { 'finished', record.status, record.updated, record.expires, record.form or '', record.head or '', record.body or '' }
end
if record.status == 'processing' then
  if record.owner == owner then
    record.lease = now + leaseMs
    save(record)
    return { 'claimed', record.run }
  end
  if record.lease > now then return { 'running', math.max(1, math.ceil(record.lease - now)) } end
end
if ARGV[8] ~= 'take' then return { 'unknown', record.run } end
local taken = claimed(record.run + 1, record.created)
taken.forget = record.forget
save(taken)
return { 'claimed', taken.run }
`);

/** Arguments: those of a step. */
export const RENEW: Script = new Script(`${STEP}
local record = live(KEYS[1])
if not record or record.owner ~= owner or record.status ~= 'processing' then return 0 end
record.lease = now + leaseMs
record.expires = now + keepMs
save(record)
return 1
`);

/** Arguments: those of a step; 'release', 'unknown', or the status; the three texts of a reply. */
export const END: Script = new Script(`${STEP}
local record = live(KEYS[1])
if record and record.owner ~= owner then return 'late' end
if record and record.status ~= 'processing' then return 'ended' end
if ARGV[8] == 'release' then
  if record and listed(record) then redis.call('ZREM', KEYS[2], id) end
  redis.call('DEL', KEYS[1])
  return 'ended'
end
record = record or claimed(1, now)
record.status, record.lease, record.updated, record.expires = ARGV[8], now, now, now + keepMs
if not open(record) and not record.forget then
  record.form, record.head, record.body = ARGV[9], ARGV[10], ARGV[11]
end
save(record)
return 'ended'
`);

/** No arguments. Answers nothing for nothing. */
export const FIND: Script = new Script(`${CLOCK}
local record = live(KEYS[1])
if not record then return {} end
local status = record.status
if status == 'processing' and record.lease <= now then status = 'unknown' end
return { record.domain, record.person or '', status, record.run, record.fingerprint, record.created, record.updated,
  record.expires, record.form or '', record.head or '', record.body or '' }
`);

/** Key: the list of a person. Argument: at most how many. */
export const LIST: Script = new Script(`return redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)`);

/** Keys: the list of a person, records. Arguments: the person, the ids of the records. Answers how many there were. */
export const ERASE: Script = new Script(`${CLOCK}
local count = 0
for i = 2, #KEYS do
  local record = live(KEYS[i])
  if record and record.person == ARGV[1] then
    record.person, record.form, record.head, record.body = nil, nil, nil, nil
    record.forget = open(record) or nil
    write(KEYS[i], record)
    count = count + 1
  end
  redis.call('ZREM', KEYS[1], ARGV[i])
end
return count
`);
