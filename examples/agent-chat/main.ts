import { embeddedPostgres } from 'holdfast/embedded';
import { Pool } from 'pg';
import { askedPort, startOnAskedPort } from '../local-page/free-port.ts';
import { numberSetting } from '../local-page/number-setting.ts';
import { postgresChats } from './chat-store.ts';
import { startProvider } from './provider.ts';
import { startChatServer } from './server.ts';

const speed = numberSetting('HOLDFAST_CHAT_SCALE', /^\d+(\.\d+)?$/, [1, 100_000], 'a number') ?? 1;
const asked = askedPort();
const database = process.env['DATABASE_URL']
  ? undefined
  : await embeddedPostgres({ dataDir: process.env['HOLDFAST_CHAT_DATA'] || '.holdfast/chat' });
const pool = new Pool({ connectionString: database?.url ?? process.env['DATABASE_URL'] });
pool.on('error', (error) => console.error(`A connection to the database was lost: ${error.message}`));
const store = await postgresChats(pool);
const provider = await startProvider();
const server = await startOnAskedPort(
  asked,
  (port) => startChatServer({ provider, port, speed, store }),
  closeDatabase,
);

console.log(`
  Agent chat with an overloaded provider

  Open      ${server.url}
  Terminal  npm start -- terminal --url ${server.url}
  Stop      Ctrl-C
${speed === 1 ? '' : `\n  Waits are ${speed} times shorter than real.\n`}`);

process.on('SIGINT', stop);
process.on('SIGTERM', stop);

/** Ends at once, also in the middle of a wait; asked twice, it does the same. */
function stop(): void {
  stopAll().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}

async function stopAll(): Promise<void> {
  await Promise.all([server.close(), provider.close()]);
  await closeDatabase();
}

async function closeDatabase(): Promise<void> {
  if (!pool.ending) await pool.end();
  await database?.stop();
}
