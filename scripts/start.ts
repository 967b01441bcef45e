import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildIfStale } from './build.ts';
import { ROOT } from './run-tool.ts';

const HELP = `Programs to try, each real and on this machine alone.

  npm start                          an order service with customers, and the operator console over it; prints both addresses
  npm start -- chat                  a chat whose model provider fails on purpose; prints the address to open
  npm start -- terminal [options]    the same chat in a terminal, against one that runs; --help lists the options
  npm start -- growth                a growth backend: durable commands, Redis Streams, four services that can be broken
  npm start -- jobs                  signed jobs as QStash delivers them, from a server of our own; prints lines for curl
  npm start -- budget                three services on RabbitMQ and Kafka; needs servers, and says which
  npm start -- --help                this text

  PORT=8080                   which port the page is on; without it 3000, or the next one that is free
  HOLDFAST_ORDERS_DATA=dir    where the order service keeps its data; without it .holdfast
  HOLDFAST_ORDERS_TRAFFIC=off no customers that come by themselves: the orders are yours alone
  HOLDFAST_ORDERS_SCALE=10    makes the waits of the order service ten times shorter
  HOLDFAST_CHAT_DATA=dir      where the chat keeps its history, without DATABASE_URL; without it .holdfast
  HOLDFAST_CHAT_SCALE=10      makes the waits of the chat ten times shorter
  HOLDFAST_JOBS_DATA=dir      where the signed jobs keep their data, without DATABASE_URL; without it .holdfast
  GROWTH_SPEED=10             makes the waits of the growth backend ten times shorter
`;

const PROGRAMS: Readonly<Record<string, string>> = {
  orders: 'order-service/main.ts',
  chat: 'agent-chat/main.ts',
  terminal: 'agent-chat/terminal.ts',
  growth: 'growth-backend/main.ts',
  jobs: 'signed-jobs/main.ts',
  budget: 'budget-services/main.ts',
};

const [part = 'orders', ...rest] = process.argv.slice(2);
if (part === '--help' || part === '-h' || part === 'help') {
  process.stdout.write(HELP);
  process.exit(0);
}
const program = Object.hasOwn(PROGRAMS, part) ? PROGRAMS[part] : undefined;
if (program === undefined) {
  console.error(
    `npm start knows "chat", "terminal", "growth", "jobs", "budget" and "--help"; "${part}" is none of them.`,
  );
  process.exit(1);
}
const MAIN = join(ROOT, 'examples', program);

const built = await buildIfStale();
if (!built.ok) {
  process.stderr.write(
    `${built.output}\nThe package did not build; mend the errors above, then run npm start again.\n`,
  );
  process.exit(1);
}
process.argv = [process.argv[0] ?? '', MAIN, ...rest];
ignoreEchoes('SIGINT');
ignoreEchoes('SIGTERM');
await import(pathToFileURL(MAIN).href);

/**
 * Lets a signal that comes twice at once count once: a terminal sends Ctrl-C to every process of the group, and npm hands
 * it on again. One that comes a second later means it, and ends the process.
 */
function ignoreEchoes(signal: 'SIGINT' | 'SIGTERM'): void {
  let first: number | undefined;
  process.on(signal, () => {
    first ??= performance.now();
    if (performance.now() - first > 1000) process.exit(130);
  });
}
