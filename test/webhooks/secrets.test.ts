import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { Pool, type PoolClient } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { idempotency } from '../../src/idempotency/index.ts';
import { migrate, postgresIdempotency } from '../../src/postgres/index.ts';
import { TerminalHandlerError } from '../../src/retry/terminal-handler-error.ts';
import { logIdempotency, traceIdempotency } from '../../src/telemetry/index.ts';
import { type JobHandler, qstash, type ReceiveRequest, signedJobs } from '../../src/webhooks/index.ts';
import { needs } from '../support/needs.ts';
import { realTracing } from '../support/spans.ts';
import { KEYS, qstashToken, type TokenOptions } from './sign.ts';

const test = needs('postgres');
const spanOf = realTracing();

/** Everything that was said: log lines, spans, events with their errors, answers. */
class Said {
  readonly texts: string[] = [];
  readonly logger = {
    debug: this.#line('debug'),
    info: this.#line('info'),
    warn: this.#line('warn'),
    error: this.#line('error'),
  };

  add(...values: readonly unknown[]): void {
    for (const value of values) this.texts.push(typeof value === 'string' ? value : inspect(value, { depth: 20 }));
  }

  #line(level: string) {
    return (fields: object, message: string): void => this.add(`${level} ${JSON.stringify(fields)} ${message}`);
  }
}

/** Sends it within a span, and writes down the answer and the span. */
async function deliver(
  said: Said,
  post: ReceiveRequest,
  token: string,
  { id, retried = 0, body = '{"id":7}' }: { readonly id: string; readonly retried?: number; readonly body?: string },
): Promise<{ readonly status: number; readonly attributes: Readonly<Record<string, unknown>> }> {
  const headers = {
    'upstash-signature': token,
    'upstash-message-id': id,
    'upstash-retried': String(retried),
    'holdfast-deduplication-id': 'send-reminder:r-7',
  };
  let status = 0;
  const span = await spanOf(async () => {
    const answer = await post(new Request('http://localhost/jobs', { method: 'POST', headers, body }));
    status = answer.status;
    said.add([...answer.headers], await answer.text());
  });
  said.add(span.name, span.attributes, span.events, span.status, span.links);
  return { status, attributes: span.attributes };
}

/** Every row of every table of the schema, as text. */
async function dump(pool: Pool, schema: string): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables where table_schema = $1 and table_type = 'BASE TABLE'`,
    [schema],
  );
  const texts = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string }>(`select one::text as text from ${schema}.${name} one`);
    texts.push(`${name}:`, ...rows.map(({ text }) => text));
  }
  return texts.join('\n');
}

/** In which ways a signature could be written down: it, its third part, their bytes, and digests that are longer than a few letters. */
function tracesOf(token: string): string[] {
  const signed = token.slice(0, token.lastIndexOf('.'));
  const third = token.slice(signed.length + 1);
  const digests = [token, third, signed].flatMap((text) =>
    (['hex', 'base64', 'base64url'] as const).map((form) => createHash('sha256').update(text).digest(form)),
  );
  const forms = [token, third].flatMap((text) =>
    (['hex', 'base64', 'base64url'] as const).map((form) => Buffer.from(text).toString(form)),
  );
  const bytes = Buffer.from(third, 'base64url');
  return [token, third, bytes.toString('hex'), bytes.toString('base64'), ...digests, ...forms];
}

test('no signature is found in logs, spans, errors, answers or a dump of the database [S3.2] [S3.4]', async ({
  postgres: { url, namespace: schema },
}) => {
  const pool = new Pool({ connectionString: url, max: 4 });
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  await migrate(client, { schema });
  client.release();
  await pool.query(`create table ${schema}.effect (line text not null)`);
  const said = new Said();
  const tokens: string[] = [];
  const token = (body = '{"id":7}', options: TokenOptions = {}): string => {
    const made = qstashToken(body, options);
    tokens.push(made);
    return made;
  };
  const receiver = (at: Pool, handler: JobHandler<unknown, PoolClient>): ReceiveRequest => {
    const idem = idempotency({
      service: 'jobs',
      store: postgresIdempotency({ pool: at, schema }),
      observers: [logIdempotency(said.logger), traceIdempotency(), (event) => said.add(event)],
    });
    const receive = signedJobs({ idempotency: idem, scheme: qstash(KEYS), logger: said.logger });
    return receive({ name: 'send-reminder', businessKey: () => 'r-7', maxBodyBytes: 1_000 }, async (payload, run) => {
      try {
        await handler(payload, run);
      } catch (error) {
        said.add(error);
        throw error;
      }
    });
  };
  const write: JobHandler<unknown, PoolClient> = async (_payload, run) => {
    await run.commit((tx) => tx.query(`insert into ${schema}.effect values ($1)`, [run.messageId]));
  };
  const post = receiver(pool, write);
  const broken = receiver(pool, async () => Promise.reject(new Error('away')));
  const never = receiver(pool, async () => Promise.reject(new TerminalHandlerError('no such user')));
  const nowhere = new Pool({ connectionString: 'postgres://127.0.0.1:1/none' });
  onTestFinished(() => nowhere.end());

  expect(await deliver(said, broken, token(), { id: 'm1' })).toMatchObject({
    status: 500,
    attributes: {
      'qstash.attempt': 1,
      'qstash.max_retries': 5,
      'qstash.final_attempt': false,
      'qstash.dlq': false,
      'qstash.dedup_id': 'send-reminder:r-7',
    },
  });
  expect(await deliver(said, broken, token(), { id: 'm1', retried: 5 })).toMatchObject({
    status: 500,
    attributes: { 'qstash.attempt': 6, 'qstash.final_attempt': true, 'qstash.dlq': false },
  });
  expect(await deliver(said, never, token(), { id: 'm1', retried: 2 })).toMatchObject({
    status: 489,
    attributes: { 'qstash.attempt': 3, 'qstash.final_attempt': false, 'qstash.dlq': true },
  });
  const used = token();
  const statuses = [
    await deliver(said, post, used, { id: 'm1' }),
    await deliver(said, post, used, { id: 'm1' }),
    await deliver(said, post, used, { id: 'm2' }),
    await deliver(said, post, token(), { id: 'm3' }),
    await deliver(said, post, token('{'), { id: 'm4', body: '{' }),
    await deliver(said, post, token('x'.repeat(1_001)), { id: 'm5', body: 'x'.repeat(1_001) }),
    await deliver(said, post, token('{"id":7}', { key: 'sig_other' }), { id: 'm6' }),
    await deliver(said, post, token('{"id":7}', { claims: { exp: 1 } }), { id: 'm6' }),
    await deliver(said, receiver(nowhere, write), token(), { id: 'm7' }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 401, 200, 489, 489, 401, 401, 503]);

  const all = [...said.texts, await dump(pool, schema)].join('\n');
  // What is looked through is there, at every level.
  for (const known of ['debug {', 'warn {', 'error {', 'qstash.attempt', 'ECONNREFUSED', 'job:signature', 'm1']) {
    expect(all).toContain(known);
  }
  for (const trace of tokens.flatMap(tracesOf)) expect(all.includes(trace), trace).toBe(false);
  // And would be found.
  await pool.query(`insert into ${schema}.effect values ($1)`, [used]);
  expect(await dump(pool, schema)).toContain(used);
});
