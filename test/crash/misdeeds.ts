import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { TransactionSql } from 'postgres';
import type { Step } from './crash-events.ts';

/** The transaction an effect is given, with pg or with postgres.js, and what it writes there. */
export interface EffectStage {
  readonly tx: { readonly pg: PoolClient } | { readonly postgresJs: TransactionSql };
  /** The effect of the message. */
  readonly insert: () => Promise<unknown>;
  /** Writes a row that must never be committed, whatever becomes of the effect. */
  readonly escape: () => Promise<unknown>;
  /** The same row for a COPY. */
  readonly escapeLine: string;
  readonly run: (text: string) => Promise<unknown>;
  /** Does that so many milliseconds after the effect has ended, as what somebody forgot to await. What it is refused with is dropped. */
  readonly later: (ms: number, work: () => unknown) => void;
}

/** What an effect does that it should not. Each performs the effect too, unless it throws. */
type Misdeed = (stage: EffectStage) => Promise<unknown>;

/** Done whenever the message runs: the effect is kept all the same. */
export const HARMLESS: Readonly<Record<string, Misdeed>> = {
  'late statements': async ({ insert, escape, run, later }) => {
    await insert();
    for (const ms of [0, 5, 50, 300]) {
      later(ms, escape);
      later(ms, () => run('rollback'));
      later(ms, () => run('commit'));
    }
  },
  'refused ends': async ({ insert, escape, run, later }) => {
    await insert();
    for (const text of [
      'commit',
      '/* a */ rollback',
      'commit and chain',
      `prepare transaction 'escape'`,
      'discard all',
    ])
      await refused(() => run(text));
    await refused(() => run(`insert into escaped values ('', '', 0); commit; begin`));
    later(20, escape);
  },
  'nested commits': async ({ insert, run }) => {
    await run('begin');
    await insert();
    await run('commit');
    await run('begin');
    await run(`insert into escaped values ('', '', 0)`);
    await run('rollback');
  },
  'ends of the client': async ({ tx, insert }) => {
    const held = ('pg' in tx ? tx.pg : tx.postgresJs) as unknown as Record<string, (() => unknown) | undefined>;
    for (const name of ['release', 'end', 'close']) await refused(() => held[name]?.());
    await refused(() =>
      (held as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy(),
    );
    await insert();
  },
};

/** Done until an operator replays the message: each such run fails, and nothing of it is kept. */
export const HARMFUL: Readonly<Record<string, Misdeed>> = {
  'hidden rejections': async ({ insert, escape }) => {
    await insert();
    const slow = async (ms: number): Promise<void> => {
      await pause(ms);
      await escape();
      await escape();
    };
    await Promise.all([slow(1), failing(), slow(5), slow(40)]);
  },
  commit: async ({ insert, run }) => {
    await insert();
    await run('-- at last\ncommit');
  },
  'commit among others': async ({ insert, run }) => {
    await insert();
    await run(`insert into escaped values ('', '', 0); commit; select 1`);
  },
  'unfinished nesting': async ({ insert, run }) => {
    await run('begin');
    await insert();
  },
  'lost connection': async ({ insert, run }) => {
    await insert();
    await run('select pg_terminate_backend(pg_backend_pid())');
    await insert();
  },
  'read only': async ({ insert, run }) => {
    await insert();
    await run(`select set_config('transaction_read_only', 'on', true)`);
  },
  'open COPY': async ({ tx, insert, escapeLine, later }) => {
    await insert();
    const copy = 'copy escaped (handler, key, n) from stdin';
    const stream: Writable = 'pg' in tx ? tx.pg.query(copyFrom(copy)) : await tx.postgresJs.unsafe(copy).writable();
    stream.on('error', () => undefined);
    if (!stream.write(escapeLine)) await once(stream, 'drain');
    later(50, () => stream.end(escapeLine));
  },
  'error of the database': async ({ insert }) => {
    await insert();
    throw Object.assign(new Error('cannot execute INSERT in a read-only transaction'), { code: '25006' });
  },
  'hidden failure': async ({ insert, run }) => {
    await insert();
    await run('select 1 / 0').catch(() => undefined);
    await insert().catch(() => undefined);
  },
  // Where its `wrap` knows for which message it is asked; elsewhere the effect throws.
  'failing wrap': async () => {
    throw new Error('wrap would have failed');
  },
};

/** What no run can help: an operator must edit or discard the message. */
export const SPOILED = 'spoiled';

const MISDEEDS: readonly string[] = [...Object.keys(HARMLESS), ...Object.keys(HARMFUL), SPOILED];

/** One message in so many is handled by effects that misbehave. */
const ONE_IN = 8;

/** What effects of this message do wrong, if anything: the same each time, by its number alone. */
export function misdeedOf({ key, n }: Pick<Step, 'key' | 'n'>): string | undefined {
  const number = 31 * Number(key.slice('key-'.length)) + 17 * n;
  return number % ONE_IN === 0 ? MISDEEDS[(number / ONE_IN) % MISDEEDS.length] : undefined;
}

async function failing(): Promise<never> {
  await pause(3);
  throw new Error('one of many');
}

/** What it is refused with is dropped, as careless code does. */
export async function refused(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch {
    // Dropped.
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
