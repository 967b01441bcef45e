import { relative, resolve } from 'node:path';
import { isHoldfastError } from 'holdfast';
import { embeddedPostgres, type EmbeddedPostgres } from 'holdfast/embedded';
import { askedPort, startOnAskedPort } from '../local-page/free-port.ts';
import { numberSetting } from '../local-page/number-setting.ts';
import { startOrderService } from './order-service.ts';

const asked = askedPort();
const speed = numberSetting('HOLDFAST_ORDERS_SCALE', /^\d+(\.\d+)?$/, [1, 1_000], 'a number') ?? 1;
const hasTraffic = trafficSetting();
const dataDir = resolve(process.env['HOLDFAST_ORDERS_DATA'] || '.holdfast');

/** How to stop what has been started so far, in the order of starting. */
const started: (() => Promise<void>)[] = [];
let stopping: Promise<void> | undefined;
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

const database = await startDatabase();
started.push(() => database.stop());
const service = await startOrderService({ databaseUrl: database.url, speed, hasTraffic });
started.push(() => service.stop());
const { url } = await startOnAskedPort(asked, (port) => service.listen(port), stopAll);
const shown = relative(process.cwd(), dataDir) || '.';

const shows = hasTraffic ? 'customers come by themselves, and things go wrong' : 'what operators see and do';
console.log(`
  Open     ${url}   place orders and watch their handlers
  Console  ${url}/console/   ${shows}

  Data     ${shown} (it stays; remove the folder to begin anew), PostgreSQL ${database.major}
  Look     psql "$(cat ${shown}/url)" -c 'select * from holdfast.outbox'
  Try      place an order and watch its three handlers; two of three find the mail provider overloaded
           place a poison order, mend the handler, replay the dead letter
           kill -9 ${process.pid} in the middle of it, then start again: nothing is lost, nothing happens twice
  Stop     Ctrl-C
${speed === 1 ? '' : `\n  Waits are ${speed} times shorter than real.\n`}`);

/** Lets what runs end, then stops the database; asked twice, it does the same. */
function stop(): void {
  if (stopping === undefined) console.log('Stopping: what runs ends first. Once more ends at once.');
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

function trafficSetting(): boolean {
  const value = process.env['HOLDFAST_ORDERS_TRAFFIC'] || 'on';
  if (value === 'on' || value === 'off') return value === 'on';
  console.error(`HOLDFAST_ORDERS_TRAFFIC is "${value}"; write on or off, or leave it out.`);
  process.exit(1);
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
