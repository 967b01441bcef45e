import { startProvider } from './provider.ts';
import { type ChatServer, startChatServer } from './server.ts';

const FIRST_PORT = 3_000;
// Far enough for a machine full of dev servers, near enough to be found again.
const PORTS_TO_TRY = 20;

const speed = readNumber('HOLDFAST_CHAT_SCALE', 1, 100_000) ?? 1;
const wanted = readNumber('PORT', 0, 65_535);
const provider = await startProvider();
const server = await startOnFreePort(wanted ?? FIRST_PORT);

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
  Promise.all([server.close(), provider.close()]).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}

/** Starts on the wanted port, or on the next free one, and says so. */
async function startOnFreePort(first: number): Promise<ChatServer> {
  const last = first === 0 ? 0 : Math.min(first + PORTS_TO_TRY, 65_535);
  for (let port = first; port <= last; port++) {
    try {
      const started = await startChatServer({ provider, port, speed });
      if (port !== first) console.log(`Port ${first} is taken; using ${port}.`);
      return started;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    }
  }
  console.error(`No free port from ${first} to ${last}; choose another with PORT=8080 npm start.`);
  process.exit(1);
}

function readNumber(name: string, min: number, max: number): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (value >= min && value <= max) return value;
  console.error(`${name} is "${text}"; write a number from ${min} to ${max}, or leave it out.`);
  process.exit(1);
}
