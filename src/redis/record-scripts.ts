import { Script } from './script-runner.ts';

/*
 * A record is one text (record-text.ts), so that a claim needs no script where it meets nothing or something finished. Beside it there
 * is for each person a sorted set of ids by expiry, for erasing. Both lie in one hash slot.
 *
 * The rules are those of src/idempotency/record-rules.ts, line by line. What most runs need stands first in each script; the rest is
 * only made when it is needed.
 */

const CLOCK = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`;

const RECORD = `
local HEAD = { 'status', 'owner', 'fingerprint', 'run', 'forget', 'person', 'domain' }
local TIMES = { 'created', 'lease', 'updated', 'expires' }
local function read(record, names, text, at)
  for _, name in ipairs(names) do
    local to = string.find(text, '\\n', at, true)
    if not to then error('what lies under the key is no record of this version') end
    record[name] = string.sub(text, at, to - 1)
    at = to + 1
  end
  return at
end
local function begin(record, from, leaseMs, keepMs)
  record.created, record.lease, record.updated, record.expires = from, from + leaseMs, from, from + keepMs
  return record
end
local function live(key, text)
  if not text then return nil end
  local record = {}
  local at = read(record, TIMES, text, read(record, HEAD, text, 1))
  if not string.find(record.status, '^1[pucf]$') then error('what lies under the key is no record of this version') end
  record.reply = string.sub(text, at)
  if record.created == '' then
    local from = redis.call('PEXPIRETIME', key) + 1 - math.ceil(record.expires)
    return begin(record, from, record.lease, record.expires)
  end
  record.lease, record.expires = tonumber(record.lease), tonumber(record.expires)
  if record.expires <= now then return nil end
  return record
end
local function textOf(record)
  local lines = {}
  for _, name in ipairs(HEAD) do lines[#lines + 1] = record[name] end
  for _, name in ipairs(TIMES) do lines[#lines + 1] = record[name] end
  lines[#lines + 1] = record.reply
  return table.concat(lines, '\\n')
end
local function write(key, record)
  redis.call('SET', key, textOf(record), 'PX', math.max(1, math.ceil(record.expires - now) - 1))
end
local function open(record) return record.status == '1p' or record.status == '1u' end
`;

// Keys: the record, and the list of its person if there is one.
const LISTED = `
local function list(expires, id)
  redis.call('ZADD', KEYS[2], expires, id)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  local left = math.ceil(expires - now)
  if redis.call('PTTL', KEYS[2]) < left then redis.call('PEXPIRE', KEYS[2], left) end
end
`;

// Every step of a run begins with the same arguments: the lines of the claim without its times, the id, the lease, how long it is kept.
const STEP = `${RECORD}
local claim = { reply = '' }
read(claim, HEAD, ARGV[1], 1)
local leaseMs, keepMs = ARGV[3], ARGV[4]
local function listed(record) return KEYS[2] and record.person == claim.person end
local function save(record)
  write(KEYS[1], record)
  if listed(record) then list(record.expires, ARGV[2]) end
end
`;

/** Arguments: those of a step, whether to take over what is unknown. */
export const CLAIM: Script = new Script(`
local text = redis.call('GET', KEYS[1])
${CLOCK}${LISTED}
if not text then
  local expires = now + ARGV[4]
  local record = ARGV[1] .. now .. '\\n' .. (now + ARGV[3]) .. '\\n' .. now .. '\\n' .. expires .. '\\n'
  redis.call('SET', KEYS[1], record, 'PX', math.max(1, math.ceil(ARGV[4]) - 1))
  if KEYS[2] then list(expires, ARGV[2]) end
  return 1
end
${STEP}
local record = live(KEYS[1], text)
if not record then
  save(begin(claim, now, leaseMs, keepMs))
  return 1
end
if record.fingerprint ~= claim.fingerprint then return { 'mismatch' } end
if not open(record) then return text end
if record.status == '1p' then
  if record.owner == claim.owner then
    record.lease = now + leaseMs
    save(record)
    return { 'claimed', record.run }
  end
  if record.lease > now then return { 'running', math.max(1, math.ceil(record.lease - now)) } end
end
if ARGV[5] ~= 'take' then return { 'unknown', record.run } end
begin(claim, now, leaseMs, keepMs)
claim.created, claim.run, claim.forget = record.created, record.run + 1, record.forget
save(claim)
return { 'claimed', claim.run }
`);

/** Arguments: those of a step. Answers 1 if it is held. */
export const RENEW: Script = new Script(`${CLOCK}${LISTED}${STEP}
local record = live(KEYS[1], redis.call('GET', KEYS[1]))
if not record or record.owner ~= claim.owner or record.status ~= '1p' then return 0 end
record.lease = now + leaseMs
record.expires = now + keepMs
save(record)
return 1
`);

/**
 * Arguments: those of a step; the letter of the status, or 'release'; the reply. Answers 1 if it has ended, 0 if it has another owner.
 * Lines that are still those of the claim say that it runs, is the owner's, was not taken over before, and that nobody was erased.
 */
export const END: Script = new Script(`
local text = redis.call('GET', KEYS[1])
${CLOCK}${LISTED}
if text and ARGV[5] ~= 'release' and string.sub(text, 1, #ARGV[1]) == ARGV[1] then
  local expires = now + ARGV[4]
  local created = string.match(text, '^[^\\n]+', #ARGV[1] + 1)
  if not created then
    local keptMs = string.match(text, '^\\n[^\\n]*\\n\\n([^\\n]*)', #ARGV[1] + 1)
    created = redis.call('PEXPIRETIME', KEYS[1]) + 1 - math.ceil(keptMs)
  end
  local record = '1' .. ARGV[5] .. string.sub(ARGV[1], 3) .. created .. '\\n' .. now .. '\\n' .. now .. '\\n' .. expires .. '\\n' .. ARGV[6]
  redis.call('SET', KEYS[1], record, 'PX', math.max(1, math.ceil(ARGV[4]) - 1))
  if KEYS[2] then list(expires, ARGV[2]) end
  return 1
end
${STEP}
local record = live(KEYS[1], text)
if record and record.owner ~= claim.owner then return 0 end
if record and record.status ~= '1p' then return 1 end
if ARGV[5] == 'release' then
  if record and listed(record) then redis.call('ZREM', KEYS[2], ARGV[2]) end
  redis.call('DEL', KEYS[1])
  return 1
end
record = record or begin(claim, now, leaseMs, keepMs)
record.status, record.lease, record.updated, record.expires = '1' .. ARGV[5], now, now, now + keepMs
record.reply = record.forget == '' and ARGV[6] or ''
save(record)
return 1
`);

/** No arguments. Answers the record with all its times, or nothing. */
export const FIND: Script = new Script(`${CLOCK}${RECORD}
local record = live(KEYS[1], redis.call('GET', KEYS[1]))
if not record then return false end
if record.status == '1p' and record.lease <= now then record.status = '1u' end
return textOf(record)
`);

/** Key: the list of a person. Argument: at most how many. */
export const LIST: Script = new Script(`return redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)`);

/** Keys: the list of a person, records. Arguments: the person, the ids of the records. Answers how many there were. */
export const ERASE: Script = new Script(`${CLOCK}${RECORD}
local count = 0
for i = 2, #KEYS do
  local record = live(KEYS[i], redis.call('GET', KEYS[i]))
  if record and record.person == ARGV[1] then
    record.person, record.reply = '', ''
    record.forget = open(record) and '1' or ''
    write(KEYS[i], record)
    count = count + 1
  end
  redis.call('ZREM', KEYS[1], ARGV[i])
end
return count
`);
