import { relative, resolve } from 'node:path';
import { isHoldfastError } from 'holdfast';
import { embeddedPostgres, type EmbeddedPostgres } from 'holdfast/embedded';
import { PortError, startOnPort } from '../local-page/free-port.ts';
import { type OrderService, startOrderService } from './order-service.ts';

const FIRST_PORT = 3_000;
// Far enough for a machine full of dev servers, near enough to be found again.
const PORTS_TO_TRY = 20;

const wanted = readNumber('PORT', /^\d+$/, [0, 65_535], 'a whole number');
const speed = readNumber('HOLDFAST_ORDERS_SCALE', /^\d+(\.\d+)?$/, [1, 1_000], 'a number') ?? 1;
const dataDir = resolve(process.env['HOLDFAST_ORDERS_DATA'] || '.holdfast');

/** How to stop what has been started so far, in the order of starting. */
const started: (() => Promise<void>)[] = [];
let stopping: Promise<void> | undefined;
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

const database = await startDatabase();
started.push(() => database.stop());
const service = await startOrderService({ databaseUrl: database.url, speed });
started.push(() => service.stop());
const { url } = await listen(service);
const shown = relative(process.cwd(), dataDir) || '.';

console.log(`
  Order service on its own PostgreSQL ${database.major}

  Open   ${url}
  Data   ${shown} (it stays; remove the folder to begin anew)
  Look   psql "$(cat ${shown}/url)" -c 'select * from holdfast.outbox'
  Try    place an order and watch its three handlers; two of three find the mail provider overloaded
         place a poison order, mend the handler, replay the dead letter
         kill -9 ${process.pid} in the middle of it, then start again: nothing is lost, nothing happens twice
  Stop   Ctrl-C
${speed === 1 ? '' : `\n  Waits are ${speed} times shorter than real.\n`}`);

/** Lets what runs end, then stops the database; asked twice, it does the same. */
function stop(): void {
  stopping ??= stopAll().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}

async function stopAll(): Promise<void> {
  for (const stopOne of started.toReversed()) await stopOne();
}

async function startDatabase(): Promise<EmbeddedPostgres> {
  try {
    return await embeddedPostgres({ dataDir });
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

/** Takes the port that was asked for and no other; if none was, the first free one from 3000 on. */
async function listen(orders: OrderService): Promise<{ readonly url: string }> {
  try {
    const { port, value } = await startOnPort(
      { first: wanted ?? FIRST_PORT, tries: wanted === undefined ? PORTS_TO_TRY : 1 },
      (candidate) => orders.listen(candidate),
    );
    if (wanted === undefined && port !== FIRST_PORT) console.log(`Port ${FIRST_PORT} is taken; using ${port}.`);
    return value;
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    console.error(`${error.message}; choose another with PORT=8080 npm start.`);
    await stopAll();
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
