// node examples/budget-services/main.ts: all processes of the example, on the servers that the environment names.
import { fileURLToPath } from 'node:url';
import type { Board } from '../local-page/board-state.ts';
import { askedPort } from '../local-page/free-port.ts';
import { SettingsError } from '../local-processes/environment.ts';
import { type Kept, NotReadyError, ProcessKeeper } from '../local-processes/process-keeper.ts';
import { reachServers, UnreachableError } from '../local-processes/reach-server.ts';
import { untilSignal } from '../local-processes/until-signal.ts';
import { commandsOf, serveBudgetPage } from './budget-page.ts';
import { otherPorts } from './local-ports.ts';
import { readSettings, type Settings } from './parts/settings.ts';
import { prepare } from './prepare.ts';
import { serversOf } from './servers.ts';
import { startTraceCollector, type TraceCollector } from './traces/trace-collector.ts';

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

const pagePort = askedPort();
try {
  Object.assign(process.env, await otherPorts(process.env));
  await run(readSettings());
} catch (error) {
  const isExpected = [SettingsError, UnreachableError, NotReadyError].some((kind) => error instanceof kind);
  if (!isExpected) throw error;
  console.error((error as Error).message);
  process.exitCode = 1;
}

async function run(settings: Settings): Promise<void> {
  await reachServers(serversOf(settings));
  await prepare(settings);
  const collector = process.env[ENDPOINT] ? undefined : await collectTraces(settings.tracesPort);
  const keeper = new ProcessKeeper({ ...process.env, [ENDPOINT]: process.env[ENDPOINT] || collector?.url });
  const asked = untilSignal();
  const stop = async (): Promise<void> => {
    await keeper.stop();
    collector?.close();
  };
  try {
    const started = Promise.all(PROCESSES.map((kept) => keeper.start(kept))).then(() => true);
    if (!(await Promise.race([asked.then(() => false), started]))) return;
    const commands = commandsOf(settings);
    const page = await serveBudgetPage({ settings, collector, commands, asked: pagePort, onNoPort: stop });
    console.log(welcome(settings, collector, page.url, commands));
    await asked;
    await page.close();
  } finally {
    await stop();
  }
}

async function collectTraces(port: number): Promise<TraceCollector> {
  try {
    return await startTraceCollector(port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new SettingsError(`port ${port} is taken; choose another with TRACES_PORT`, { cause: error });
  }
}

function welcome(
  { ports, transactionsRestPort, relayPort }: Settings,
  collector: TraceCollector | undefined,
  page: string,
  commands: Board['commands'],
): string {
  return `
  All is ready.

  Open          ${page}   what came in, what was handled, dead letters; a console for each service
  orders        REST     http://127.0.0.1:${ports.orders}/api/orders
  expenses      GraphQL  http://127.0.0.1:${ports.expenses}/graphql
                REST     http://127.0.0.1:${ports.expenses}/api/expenses
  transactions  gRPC     127.0.0.1:${ports.transactions}
                REST     http://127.0.0.1:${transactionsRestPort}/api/transactions
  metrics       of each  http://127.0.0.1:${ports.orders}/metrics, and at ${ports.expenses}, ${transactionsRestPort}; of the relay at ${relayPort}
  traces        ${collector ? `${collector.url}/traces` : `go to ${process.env[ENDPOINT]}`}

  In another terminal, in this folder:

${commands.map(({ about, command }) => `  ${about}:\n    ${command}\n`).join('\n')}
  More          examples/budget-services/README.md
  Stop          Ctrl-C
`;
}
