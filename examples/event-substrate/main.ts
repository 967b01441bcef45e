import { parseArgs } from 'node:util';
import { alertOnDead, sentryAlerts } from 'holdfast/telemetry';
import type { Pool } from 'pg';
import { untilSignal } from '../local-processes/until-signal.ts';
import { registerHandlers } from './handlers.ts';
import { issueInvoice } from './issue-invoice.ts';
import { printedSentry } from './printed-sentry.ts';
import { billing, openPool, prepare } from './substrate.ts';

const HELP = `An event substrate on the PostgreSQL that DATABASE_URL names.

  main.ts prepare                                           make the schema and the tables
  main.ts worker --generation <n>                           handle the events of one generation, until Ctrl-C
  main.ts send --generation <n> --invoice <id> --tax-code <code> [--customer <id>]
                                                            issue an invoice; prints the event's id
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    generation: { type: 'string', default: '1' },
    invoice: { type: 'string', default: 'inv_1' },
    'tax-code': { type: 'string', default: 'DE19' },
    customer: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const [command] = positionals;
const generation = Number(values.generation);
if (values.help || !['prepare', 'worker', 'send'].includes(command ?? '') || !(generation >= 1)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 1);
}

try {
  const pool = openPool();
  try {
    await run(pool);
  } finally {
    await pool.end();
  }
} catch (error) {
  const { code = '', message } = error as Error & { readonly code?: string };
  const isUnprepared = code === '42P01' || code === 'SCHEMA_TOO_OLD';
  console.error(isUnprepared ? 'The tables are missing; run node examples/event-substrate/main.ts prepare.' : message);
  process.exitCode = 1;
}

async function run(pool: Pool): Promise<void> {
  if (command === 'prepare') {
    await prepare(pool);
    console.log('Ready.');
  } else if (command === 'send') {
    const { invoice: invoiceId, 'tax-code': taxCode, customer: customerId = invoiceId } = values;
    const invoice = { invoiceId, customerId, netCents: 10_000, taxCode };
    console.log(await issueInvoice(pool, billing(pool, generation), invoice));
  } else {
    await work(pool);
  }
}

/** Handles events until it is told to stop. */
async function work(pool: Pool): Promise<void> {
  const hf = billing(pool, generation);
  registerHandlers(hf, generation);
  const running = await hf.start({
    name: `billing generation ${generation}`,
    observers: [alertOnDead({ sink: sentryAlerts(printedSentry) })],
  });
  console.log(`Generation ${generation} is at work. Ctrl-C stops it.`);
  await untilSignal();
  await running.stop();
  console.log(`Generation ${generation} has stopped.`);
}
