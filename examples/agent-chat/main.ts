import { PortError, startOnPort } from '../local-page/free-port.ts';
import { startProvider } from './provider.ts';
import { type ChatServer, startChatServer } from './server.ts';

const FIRST_PORT = 3_000;
// Far enough for a machine full of dev servers, near enough to be found again.
const PORTS_TO_TRY = 20;

const speed = readNumber('HOLDFAST_CHAT_SCALE', /^\d+(\.\d+)?$/, [1, 100_000], 'a number') ?? 1;
const wanted = readNumber('PORT', /^\d+$/, [0, 65_535], 'a whole number');
const provider = await startProvider();
const server = await start();

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

/** Takes the port that was asked for and no other; if none was, the first free one from 3000 on. */
async function start(): Promise<ChatServer> {
  try {
    const { port, value } = await startOnPort(
      { first: wanted ?? FIRST_PORT, tries: wanted === undefined ? PORTS_TO_TRY : 1 },
      (candidate) => startChatServer({ provider, port: candidate, speed }),
    );
    if (wanted === undefined && port !== FIRST_PORT) console.log(`Port ${FIRST_PORT} is taken; using ${port}.`);
    return value;
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    console.error(`${error.message}; choose another with PORT=8080 npm start.`);
    process.exit(1);
  }
}

function readNumber(
  name: string,
  form: RegExp,
  [min, max]: readonly [number, number],
  kind: string,
): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (form.test(text) && value >= min && value <= max) return value;
  console.error(`${name} is "${text}"; write ${kind} from ${min} to ${max}, or leave it out.`);
  process.exit(1);
}
