import { answerWithin } from '../idempotency/answer-within.ts';
import { systemEffects } from '../system/effects.ts';
import { openRunner, Script, texts } from './script-runner.ts';
import { TAGS } from './record-keys.ts';
import type { RedisOptions } from './redis-idempotency.ts';

/** Something about a server that makes it unfit, or less fit, to be the only store of what runs. */
export interface RedisProblem {
  /**
   * `evicts`: it may throw away what runs when its memory is full. `replica`: it takes no writes. `forgets`: it writes no log, and a
   * restart loses what came since the last snapshot. `untold`: it does not say.
   */
  readonly kind: 'evicts' | 'replica' | 'forgets' | 'untold';
  readonly found: string;
  /** What to do. */
  readonly next: string;
}

/**
 * What is wrong with a server, or with the servers of a cluster, as the only store of claims; nothing when all is well. A cache of
 * replies (`redisReplyCache`) needs none of this. Rejects when no server answers within ten seconds.
 */
export async function checkRedis(options: RedisOptions): Promise<readonly RedisProblem[]> {
  const { run, prefix } = openRunner('checkRedis()', options);
  const ask = async (tag: string): Promise<Facts> => {
    const info = await answerWithin(systemEffects, ANSWER_MS, 'check', () => run(INFO, [`${prefix}r:{${tag}}`], []));
    return factsOf(texts(info));
  };
  const first = await ask('A');
  const isCluster = first.get('cluster_enabled') === '1';
  const all = isCluster ? await Promise.all(Array.from(TAGS, ask)) : [first];
  // A server that keeps what it is to itself is one of its own.
  const servers = new Map(all.map((facts) => [facts.get('run_id'), facts]));
  return [...servers.values()].flatMap(problemsOf);
}

const ANSWER_MS = 10_000;

type Facts = ReadonlyMap<string, string>;

// In a script, so that a cluster sends it where the keys with this letter are. A user who may not ask is answered with the reason.
const INFO: Script = new Script(`
local info = redis.pcall('INFO')
return type(info) == 'table' and { 'err', info.err } or { 'info', info }
`);

function factsOf([kind, text = '']: readonly string[]): Facts {
  if (kind === 'err') return new Map([['refused', text]]);
  return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]));
}

function problemsOf(facts: Facts): readonly RedisProblem[] {
  const problems: RedisProblem[] = [];
  const policy = facts.get('maxmemory_policy');
  if (policy === undefined) {
    const found = `the server does not tell its maxmemory-policy${facts.has('refused') ? `: ${facts.get('refused')}` : ''}`;
    problems.push({
      kind: 'untold',
      found,
      next: 'allow this user the command INFO, or see yourself that it is noeviction',
    });
  } else if (policy !== 'noeviction') {
    const limit = Number(facts.get('maxmemory'));
    const memory = limit > 0 ? `with ${limit} bytes of memory` : 'with no limit of memory yet';
    const next = 'set maxmemory-policy to noeviction, or keep claims in PostgreSQL and only replies here';
    problems.push({ kind: 'evicts', found: `maxmemory-policy is ${policy}, ${memory}`, next });
  }
  if (facts.get('role') === 'slave') {
    problems.push({ kind: 'replica', found: 'the server is a replica', next: 'connect to the primary' });
  }
  if (facts.get('aof_enabled') === '0') {
    const next = 'set appendonly to yes, or keep claims in PostgreSQL and only replies here';
    problems.push({ kind: 'forgets', found: 'appendonly is no', next });
  }
  return problems;
}
