// node examples/budget-services/main.ts: all processes of the example, on the servers that the environment names.
import { fileURLToPath } from 'node:url';
import { readSettings, type Settings, SettingsError } from './parts/settings.ts';
import { untilSignal } from './parts/until-signal.ts';
import { prepare } from './prepare.ts';
import { type Kept, ProcessKeeper } from './process-keeper.ts';
import { reachServers, UnreachableError } from './reach-servers.ts';
import { startTraceCollector, type TraceCollector } from './traces/trace-collector.ts';

const TRACES_PORT = 3004;
const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

const PROCESSES: readonly Kept[] = [
  { name: 'transactions', args: [file('transactions/main.ts')], ready: /is ready/ },
  { name: 'expenses', args: [file('expenses/main.ts')], ready: /is ready/ },
  { name: 'orders', args: [file('orders/main.ts')], ready: /is ready/ },
  {
    name: 'orders-relay',
    args: [cli, 'relay', '--config', file('orders/holdfast.config.ts')],
    ready: /started as worker/,
  },
];

try {
  await run(readSettings());
} catch (error) {
  if (!(error instanceof SettingsError || error instanceof UnreachableError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function run(settings: Settings): Promise<void> {
  await reachServers(settings);
  await prepare(settings);
  const collector = process.env[ENDPOINT] ? undefined : await startTraceCollector(TRACES_PORT);
  const keeper = new ProcessKeeper({ ...process.env, [ENDPOINT]: process.env[ENDPOINT] || collector?.url });
  const asked = untilSignal();
  try {
    await Promise.race([asked, Promise.all(PROCESSES.map((kept) => keeper.start(kept)))]);
    console.log(welcome(settings, collector));
    await asked;
  } finally {
    await keeper.stop();
    collector?.close();
  }
}

function welcome({ ports }: Settings, collector: TraceCollector | undefined): string {
  return `
  All is ready.

  orders        REST     http://127.0.0.1:${ports.orders}/api/orders
  expenses      GraphQL  http://127.0.0.1:${ports.expenses}/graphql
  transactions  gRPC     127.0.0.1:${ports.transactions}
  traces        ${collector ? `${collector.url}/traces` : `go to ${process.env[ENDPOINT]}`}
  Try           examples/budget-services/README.md, in another terminal
  Stop          Ctrl-C
`;
}
