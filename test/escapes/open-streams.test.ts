import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg, { type PoolClient } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import Cursor from 'pg-cursor';
import QueryStream from 'pg-query-stream';
import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { late, onPg, onPostgresJs } from './one-connection.ts';

const test = needs('postgres');

const LONG = 'select n::text from generate_series(1, 100000) n';

describe('with pg, an effect', () => {
  test('may leave a cursor and a stream of rows half read: they are closed, and say nothing afterwards [X.3]', async ({
    postgres,
  }) => {
    const { run, lines } = await onPg(postgres);
    const cursor = new Cursor<{ n: string }>(LONG);
    const stream = new QueryStream(LONG);
    stream.on('error', () => undefined);
    const first = run(async (tx) => {
      await tx.query(`insert into effect values ('first')`);
      expect(await tx.query(cursor).read(1)).toEqual([{ n: '1' }]);
    });
    expect(await first).toBe('kept');
    const second = run(async (tx) => {
      await tx.query(`insert into effect values ('second')`);
      expect(await cursor.read(1)).toEqual([]);
      tx.query(stream);
      expect(await once(stream, 'readable').then(() => stream.read() as unknown)).toEqual({ n: '1' });
    });
    expect(await second).toBe('kept');
    const third = run(async (tx) => {
      await cursor.close();
      stream.destroy();
      await tx.query(`insert into effect values ('third')`);
    });
    expect(await third).toBe('kept');
    expect(await lines()).toEqual(['first', 'second', 'third']);
  });

  test('keeps a COPY with its end, and nothing of one without: TRANSACTION_UNFINISHED [X.3]', async ({ postgres }) => {
    const { run, lines } = await onPg(postgres);
    let done: Writable | undefined;
    const whole = run(async (tx) => {
      done = tx.query(copyFrom('copy effect from stdin'));
      done.on('error', () => undefined);
      await pipeline(Readable.from(['whole\n']), done);
    });
    expect(await whole).toBe('kept');
    let open: Writable | undefined;
    const half = run(async (tx) => {
      await tx.query(`insert into effect values ('beside a half')`);
      open = tx.query(copyFrom('copy effect from stdin'));
      open.on('error', () => undefined);
      await new Promise((resolve) => open?.write('half\n', resolve));
    });
    await expect(half).rejects.toMatchObject({ code: 'TRANSACTION_UNFINISHED', details: { unfinished: 'a COPY' } });
    const next = run(async (tx) => {
      for (const stream of [done, open]) {
        stream?.write('late\n');
        stream?.end();
      }
      await tx.query(`insert into effect values ('next')`);
    });
    expect(await next).toBe('kept');
    expect(await lines()).toEqual(['next', 'whole']);
  });

  test('that waits for a statement behind a COPY it never ends is ended with it: TRANSACTION_RESTED [X.3]', async ({
    postgres,
  }) => {
    const { run, lines } = await onPg(postgres);
    const stuck = run(async (tx) => {
      const open = tx.query(copyFrom('copy effect from stdin'));
      open.on('error', () => undefined);
      open.write('half\n');
      await tx.query(`insert into effect values ('behind it')`);
    }, 200);
    await expect(stuck).rejects.toMatchObject({ code: 'TRANSACTION_RESTED', details: { restMs: 200 } });
    const hidden = run(async (tx) => {
      tx.query(copyFrom('copy effect from stdin')).on('error', () => undefined);
      await tx.query(`insert into effect values ('behind it')`).catch(() => undefined);
    }, 200);
    await expect(hidden).rejects.toMatchObject({ code: 'TRANSACTION_RESTED' });
    const slow = run(async (tx) => {
      const stream = tx.query(copyFrom('copy effect from stdin'));
      for (const line of ['a', 'b', 'c', 'd', 'e']) {
        await new Promise((resolve) => setTimeout(resolve, 60));
        stream.write(`${line}\n`);
      }
      await pipeline(Readable.from(['f\n']), stream);
    }, 200);
    expect(await slow).toBe('kept');
    expect(await lines()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  test('may leave a COPY to it half read, and reads one to its end [X.3]', async ({ postgres }) => {
    const { run, lines } = await onPg(postgres);
    const half = run(async (tx) => {
      await tx.query(`insert into effect values ('half read')`);
      const stream = tx.query(copyTo(`copy (${LONG}) to stdout`));
      await once(stream, 'readable');
    });
    expect(await half).toBe('kept');
    let bytes = 0;
    const whole = run(async (tx) => {
      for await (const chunk of tx.query(copyTo(`copy (${LONG}) to stdout`))) bytes += (chunk as Buffer).length;
      await tx.query(`insert into effect values ('read')`);
    });
    expect(await whole).toBe('kept');
    expect(bytes).toBe(588_895);
    expect(await lines()).toEqual(['half read', 'read']);
  });

  test('has a connection in its own statements only as long as they run [X.3]', async ({ postgres }) => {
    const { run, lines } = await onPg(postgres);
    type Connection = { query(text: string): void; stream?: { write(data: string): unknown } };
    const kept: Connection[] = [];
    const uses: readonly ((connection: Connection) => unknown)[] = [
      (connection) => connection.query('commit'),
      (connection) => connection.query('select 1'),
      (connection) => connection.stream?.write('X'),
      (connection) => (connection as unknown as { end(): void }).end(),
    ];
    const spied = (tx: PoolClient): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const query = new pg.Query('select $1::int', [1]);
        const { submit } = query;
        query.submit = (connection) => {
          kept.push(connection);
          Reflect.apply(submit, query, [connection]);
        };
        query.on('error', reject);
        query.on('end', resolve);
        tx.query(query);
      });
    const outcomes: string[] = [];
    const first = run(async (tx) => {
      await spied(tx);
      for (const use of uses) outcomes.push(await late(() => use(kept[0] as Connection)));
      await tx.query(`insert into effect values ('first')`);
    });
    expect(await first).toBe('kept');
    expect(outcomes).toEqual(['TRANSACTION_CONTROL', 'TRANSACTION_CONTROL', 'TRANSACTION_CONTROL', 'undefined']);
    const second = run(async (tx) => {
      for (const use of uses) outcomes.push(await late(() => use(kept[0] as Connection)));
      await tx.query(`insert into effect values ('second')`);
    });
    expect(await second).toBe('kept');
    expect(outcomes.slice(4)).toEqual([
      'TRANSACTION_NOT_OPEN',
      'TRANSACTION_NOT_OPEN',
      'TRANSACTION_NOT_OPEN',
      'undefined',
    ]);
    expect(await lines()).toEqual(['first', 'second']);
  });
});

describe('with postgres.js, an effect', () => {
  test('keeps a COPY with its end, and nothing of one without: TRANSACTION_UNFINISHED [X.3]', async ({ postgres }) => {
    const { run, lines } = await onPostgresJs(postgres);
    let done: Writable | undefined;
    const whole = run(async (tx) => {
      done = await tx`copy effect from stdin`.writable();
      done.on('error', () => undefined);
      await pipeline(Readable.from(['whole\n']), done);
    });
    expect(await whole).toBe('kept');
    let open: Writable | undefined;
    const half = run(async (tx) => {
      await tx`insert into effect values ('beside a half')`;
      open = await tx`copy effect from stdin`.writable();
      await new Promise((resolve) => open?.write('half\n', resolve));
    });
    await expect(half).rejects.toMatchObject({ code: 'TRANSACTION_UNFINISHED', details: { unfinished: 'a COPY' } });
    const next = run(async (tx) => {
      for (const stream of [done, open]) {
        stream?.on('error', () => undefined);
        stream?.write('late\n');
        stream?.end();
      }
      await tx`insert into effect values ('next')`;
    });
    expect(await next).toBe('kept');
    expect(await lines()).toEqual(['next', 'whole']);
  });

  test('that waits for something else while its COPY is open is ended with it: TRANSACTION_RESTED [X.3]', async ({
    postgres,
  }) => {
    const { run, lines } = await onPostgresJs(postgres);
    const stuck = run(async (tx) => {
      const open = await tx`copy effect from stdin`.writable();
      open.on('error', () => undefined);
      open.write('half\n');
      await new Promise<never>(() => undefined);
    }, 200);
    await expect(stuck).rejects.toMatchObject({ code: 'TRANSACTION_RESTED', details: { restMs: 200 } });
    const slow = run(async (tx) => {
      const stream = await tx`copy effect from stdin`.writable();
      for (const line of ['a', 'b', 'c', 'd', 'e']) {
        await new Promise((resolve) => setTimeout(resolve, 60));
        stream.write(`${line}\n`);
      }
      await pipeline(Readable.from(['f\n']), stream);
    }, 200);
    expect(await slow).toBe('kept');
    expect(await lines()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  test('may leave a COPY to it and a cursor half read, and nothing of them comes afterwards [X.3]', async ({
    postgres,
  }) => {
    const { run, lines } = await onPostgresJs(postgres);
    let calls = 0;
    const copy = run(async (tx) => {
      await tx`insert into effect values ('copy')`;
      const stream = await tx.unsafe(`copy (${LONG}) to stdout`).readable();
      await once(stream, 'readable');
    });
    expect(await copy).toBe('kept');
    const cursor = run(async (tx) => {
      await tx`insert into effect values ('cursor')`;
      await new Promise<void>((resolve) => {
        const hang = async (): Promise<never> => {
          calls += 1;
          resolve();
          return new Promise<never>(() => undefined);
        };
        const half = tx.unsafe(LONG).cursor(1, hang as never);
        // It is sent when it is first waited for.
        void half.then(() => undefined);
      });
    });
    expect(await cursor).toBe('kept');
    const broken = run(async (tx) => {
      for await (const rows of tx.unsafe(LONG).cursor(1)) {
        expect(rows).toEqual([{ n: '1' }]);
        break;
      }
      await tx`insert into effect values ('broken off')`;
    });
    expect(await broken).toBe('kept');
    expect(calls).toBe(1);
    expect(await lines()).toEqual(['broken off', 'copy', 'cursor']);
  });

  test('waits for the function of a cursor, and fails with what it throws, also for the last rows [X.3]', async ({
    postgres,
  }) => {
    const { run, lines } = await onPostgresJs(postgres);
    const fault = new Error('a row is wrong');
    const throws = (): never => {
      throw fault;
    };
    const rejects = async (): Promise<never> => Promise.reject(fault);
    for (const size of [1, 2, 10]) {
      for (const failing of [throws, rejects]) {
        const failed = run((tx) => tx`select generate_series(1, 2)`.cursor(size, failing as never));
        await expect(failed).rejects.toBe(fault);
      }
      let count = 0;
      const looped = run(async (tx) => {
        for await (const rows of tx`select generate_series(1, 2)`.cursor(size)) count += rows.length;
      });
      expect(await looped).toBe('kept');
      expect(count).toBe(2);
    }
    const kept = run((tx) => {
      const insert = async (rows: readonly { n: number }[]): Promise<void> => {
        for (const { n } of rows) await tx`insert into effect values (${String(n)})`;
      };
      return tx`select generate_series(1, 2) n`.cursor(10, insert as never);
    });
    expect(await kept).toBe('kept');
    expect(await lines()).toEqual(['1', '2']);
  });
});
