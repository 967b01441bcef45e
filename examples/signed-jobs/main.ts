import { randomBytes } from 'node:crypto';
import { embeddedPostgres } from 'holdfast/embedded';
import { migrate } from 'holdfast/postgres';
import { publishJob } from 'holdfast/webhooks';
import type { Pool } from 'pg';
import { serveRoutes } from './app-server.ts';
import { LocalSender } from './local-sender.ts';

/** No unique keys, on purpose: a second effect would be seen. */
const TABLES = `
  drop schema if exists jobs_app cascade;
  create schema jobs_app;
  create table jobs_app.sent_reminder (reminder_id text not null, recipient text not null, attempt int not null);
  create table jobs_app.memory (conversation_id text not null, message text not null);
  create table jobs_app.indexed_file (file_id text not null, words int not null);
`;
// Ten seconds become fifty milliseconds.
const SPEED = 200;

const database = process.env['DATABASE_URL']
  ? undefined
  : await embeddedPostgres({ dataDir: process.env['HOLDFAST_JOBS_DATA'] || '.holdfast' });
if (database !== undefined) process.env['DATABASE_URL'] = database.url;
const currentKey = (process.env['QSTASH_CURRENT_SIGNING_KEY'] ??= `sig_${randomBytes(16).toString('hex')}`);
const nextKey = (process.env['QSTASH_NEXT_SIGNING_KEY'] ??= `sig_${randomBytes(16).toString('hex')}`);

// The routes read the environment when they are loaded, as those of Next do.
const { pool } = await import('./receive.ts');
const { url, server } = await serveRoutes({
  '/api/jobs/reminder': await import('./routes/reminder.ts'),
  '/api/jobs/memory': await import('./routes/memory.ts'),
  '/api/jobs/file': await import('./routes/file.ts'),
});
const token = randomBytes(16).toString('hex');
const sender = new LocalSender({ token, currentKey, nextKey, speed: SPEED });

try {
  await prepare(pool);
  await tryOut();
} finally {
  sender.close();
  server.close();
  server.closeAllConnections();
  await pool.end();
  await database?.stop();
}

async function tryOut(): Promise<void> {
  const publish = publisher(await sender.listen());
  const reminder = { reminderId: 'r-7', to: 'ada@example.org' };
  await publish('send-reminder', 'r-7', '/api/jobs/reminder', reminder);
  await publish('send-reminder', 'r-7', '/api/jobs/reminder', reminder);
  const turn = { conversationId: 'c-1', messages: ['likes tea', 'lives in Turin'] };
  const synced = await publish('sync-memory', 'c-1', '/api/jobs/memory', turn);
  await publish('index-file', 'f-1', '/api/jobs/file', {
    fileId: 'f-1',
    type: 'text/plain',
    text: 'three short words',
  });
  await publish('index-file', 'f-2', '/api/jobs/file', { fileId: 'f-2', type: 'image/heic', text: '' });
  await sender.idle();

  console.log('again   the answer of the memory job was lost, the keys were changed, the reminder is published anew');
  sender.rotateKeys();
  await sender.deliverAgain(synced);
  await publish('send-reminder', 'r-7-again', '/api/jobs/reminder', reminder);
  await sender.idle();
  await report();
}

function publisher(baseUrl: string): (job: string, resourceId: string, path: string, body: unknown) => Promise<string> {
  return async (job, resourceId, path, body) => {
    const message = { job, resourceId, url: `${url}${path}`, body };
    const { messageId, deduplicated } = await publishJob({ baseUrl, token }, message);
    console.log(`publish ${job} about ${resourceId}${deduplicated ? ': dropped, it is the same as before' : ''}`);
    return messageId;
  };
}

async function report(): Promise<void> {
  const { rows } = await pool.query<Record<string, number>>(`select
    (select count(*)::int from jobs_app.sent_reminder) as reminders,
    (select count(*)::int from jobs_app.memory) as memories,
    (select count(*)::int from jobs_app.indexed_file) as files`);
  const deliveries = sender.attempts.map(({ status }) => status).toSorted((a, b) => a - b);
  const dead = sender.deadLetters.map(({ url: at, status }) => `${new URL(at).pathname} (${status})`);
  console.log(`answers ${deliveries.join(' ')}`);
  console.log(`dead    ${dead.join(', ')}`);
  console.log(`effects ${JSON.stringify(rows[0])}`);
}

/** Makes our tables and those of the application. */
async function prepare(at: Pool): Promise<void> {
  const client = await at.connect();
  try {
    await migrate(client);
  } finally {
    client.release();
  }
  await at.query(TABLES);
}
