import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@upstash/qstash';
import { embeddedPostgres } from 'holdfast/embedded';
import { migrate, postgresOperator } from 'holdfast/postgres';
import { publishJob, type QstashClientLike } from 'holdfast/webhooks';
import { Pool } from 'pg';
import { boardListener } from '../local-page/board.ts';
import { askedPort, startOnAskedPort } from '../local-page/free-port.ts';
import { mountConsole } from '../local-page/operator-console.ts';
import { untilSignal } from '../local-processes/until-signal.ts';
import { type AppServer, serveRoutes } from './app-server.ts';
import { effectsOf, readBoard } from './board.ts';
import { type DeliveryServer, startDeliveryServer } from './delivery-server.ts';

/** No unique keys, on purpose: a second effect would be seen. */
const TABLES = `
  create schema if not exists jobs_app;
  create table if not exists jobs_app.sent_reminder (reminder_id text not null, recipient text not null, attempt int not null);
  create table if not exists jobs_app.memory (conversation_id text not null, message text not null);
  create table if not exists jobs_app.indexed_file (file_id text not null, words int not null);
`;
// Ten seconds, twice as long each time, become fifty milliseconds.
const RETRY_DELAY = '50 * pow(2, retried)';
// Signing keys are sealed by it. A secret of your own has 32 random characters and stands in no file.
const SECRET = process.env['HOLDFAST_SECRET'] || 'for this example alone, known to everybody';

const port = askedPort();
const stopped = untilSignal();
const database = process.env['DATABASE_URL']
  ? undefined
  : await embeddedPostgres({ dataDir: process.env['HOLDFAST_JOBS_DATA'] || '.holdfast/jobs' });
if (database !== undefined) process.env['DATABASE_URL'] = database.url;
const pool = new Pool({ connectionString: process.env['DATABASE_URL'] });
pool.on('error', (error) => console.error(`A connection to the database was lost: ${error.message}`));
await prepare(pool);
const delivery = await startDeliveryServer(pool, SECRET);
const { current, next } = await delivery.deliveries.signingKeys.get();
process.env['QSTASH_CURRENT_SIGNING_KEY'] = current;
process.env['QSTASH_NEXT_SIGNING_KEY'] = next;

// The routes read the environment when they are loaded, as those of Next do.
const { pool: appPool } = await import('./receive.ts');
const routes = {
  '/api/jobs/reminder': await import('./routes/reminder.ts'),
  '/api/jobs/memory': await import('./routes/memory.ts'),
  '/api/jobs/file': await import('./routes/file.ts'),
};
const ops = mountConsole(postgresOperator({ pool }), '/console/', delivery.deliveries);
const page = boardListener({
  read: () => readBoard({ pool, deliveries: delivery.deliveries, commands: commands() }),
  mounts: { [ops.path]: ops.listener },
  routes: [{ method: 'GET', path: /^\/effects$/, answer: async ({ response }) => void response.end(await effects()) }],
});
const app: AppServer = await startOnAskedPort(port, async (free) =>
  serveRoutes({ port: free, routes, otherwise: page }),
);
const { url, server, loseAnswer } = app;

try {
  await tryOut(delivery);
  console.log(whatToTry());
  await stopped;
} finally {
  await delivery.close();
  await ops.close();
  server.close();
  server.closeAllConnections();
  await Promise.all([pool.end(), appPool.end()]);
  await database?.stop();
}

async function tryOut({ deliveries, url: baseUrl, token }: DeliveryServer): Promise<void> {
  const publish = publisher(new Client({ baseUrl, token }));
  const reminder = { reminderId: 'r-7', to: 'ada@example.org' };
  const turn = { conversationId: 'c-1', messages: ['likes tea', 'lives in Turin'] };
  const text = 'three short words';
  // Whoever sends cannot know that the job was done: it sends it again.
  loseAnswer('/api/jobs/memory');
  await allDone([
    await publish('send-reminder', 'r-7', '/api/jobs/reminder', reminder),
    await publish('send-reminder', 'r-7', '/api/jobs/reminder', reminder),
    await publish('sync-memory', 'c-1', '/api/jobs/memory', turn),
    await publish('index-file', 'f-1', '/api/jobs/file', { fileId: 'f-1', type: 'text/plain', text }),
    await publish('index-file', 'f-2', '/api/jobs/file', { fileId: 'f-2', type: 'image/heic', text: '' }),
  ]);

  console.log('again   the signing keys are changed, and the reminder is published anew');
  await deliveries.signingKeys.rotate();
  await allDone([await publish('send-reminder', 'r-7-again', '/api/jobs/reminder', reminder)]);
  await report();
}

/** Waits until each is delivered or has failed for good. */
async function allDone(messageIds: readonly string[]): Promise<void> {
  for (const id of messageIds) {
    while ((await delivery.deliveries.messages.get(id))?.state === 'waiting') await sleep(20);
  }
}

function publisher(client: Client): (job: string, resourceId: string, path: string, body: unknown) => Promise<string> {
  // The client as it is, but for the waits.
  const hasty: QstashClientLike = {
    publishJSON: (request) => client.publishJSON({ ...request, retryDelay: RETRY_DELAY }),
  };
  return async (job, resourceId, path, body) => {
    const message = { job, resourceId, url: `${url}${path}`, body };
    const { messageId, deduplicated } = await publishJob(hasty, message);
    console.log(`publish ${job} about ${resourceId}${deduplicated ? ': dropped, it is the same as before' : ''}`);
    return messageId;
  };
}

/** Commands to paste into another terminal. */
function commands(): readonly { readonly word: string; readonly about: string; readonly command: string }[] {
  const publish = [
    `curl -s -X POST ${delivery.url}/v2/publish/${app.url}/api/jobs/reminder`,
    `-H 'Authorization: Bearer ${delivery.token}'`,
    `-H 'Upstash-Retry-Delay: ${RETRY_DELAY}'`,
    `-H 'Content-Type: application/json'`,
    `-d '{"reminderId":"r-8","to":"bob@example.org"}'`,
  ].join(' ');
  const forge = `curl -i -X POST ${app.url}/api/jobs/reminder -d '{"reminderId":"r-9","to":"eve@example.org"}'`;
  return [
    {
      word: 'Publish',
      about: 'Publish a reminder; again: it is delivered, and no second mail is sent',
      command: publish,
    },
    { word: 'Forge', about: 'Call the route without a signature: refused', command: forge },
    { word: 'Effects', about: 'Count what was done', command: `curl -s ${app.url}/effects` },
  ];
}

function whatToTry(): string {
  const lines = commands().map(({ word, command }) => `  ${word.padEnd(8)}  ${command}`);
  return `
  Signed jobs, on this machine alone

  Open      ${app.url}   what was published, delivered and done
  Console   ${app.url}/console/deliveries
${lines.join('\n')}
  Stop      Ctrl-C
`;
}

async function effects(): Promise<string> {
  return `effects ${JSON.stringify(await effectsOf(pool))}\n`;
}

async function report(): Promise<void> {
  const { log, dead } = delivery.deliveries;
  const attempts = await log.list({ states: ['DELIVERED', 'ERROR', 'FAILED'] }, { limit: 100 });
  const answers = attempts.items.map(({ responseStatus }) => String(responseStatus ?? 'lost')).toSorted();
  const failed = await dead.list({}, { limit: 100 });
  console.log(`answers ${answers.join(' ')}`);
  console.log(
    `dead    ${failed.items.map(({ request, responseStatus }) => `${new URL(request.url).pathname} (${responseStatus})`).join(', ')}`,
  );
  console.log((await effects()).trimEnd());
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
