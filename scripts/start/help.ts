import { PROGRAMS } from './programs.ts';

const SETTINGS = `
  PORT=8080                    the port of the page; else 3000 or the next one
  DATABASE_URL=postgres://…    a PostgreSQL to use; else one is started here
                               (orders always has its own)
  HOLDFAST_ORDERS_DATA=dir     where data stays; else below .holdfast. Likewise
                               HOLDFAST_CHAT_DATA, HOLDFAST_JOBS_DATA,
                               HOLDFAST_SUBSTRATE_DATA, GROWTH_DATA
  HOLDFAST_ORDERS_SCALE=10     waits ten times shorter. Likewise
                               HOLDFAST_CHAT_SCALE, GROWTH_SPEED, BUDGET_SPEED
  HOLDFAST_ORDERS_TRAFFIC=off  no customers that come by themselves
`;

/** The programs, one line each. */
export function programLines(): string {
  const width = Math.max(...PROGRAMS.map(({ name }) => name.length)) + 2;
  return PROGRAMS.map(({ name, about }) => `  npm start -- ${name.padEnd(width)}${about}`).join('\n');
}

/** What `npm start -- --help` prints: no line is longer than 80 columns. */
export function helpText(): string {
  return `Programs to try, each real and on this machine alone. Ctrl-C ends them.
Without a name it is the first. A folder of examples/ is a name too.

${programLines()}
  npm start -- --help     this text

Servers that are missing are brought: RabbitMQ, Kafka and the like as they are
found on their usual ports, else by docker compose, else started here.
${SETTINGS}`;
}
