// The API of the backend: stores commands and shows what became of them. The process worker runs them.
import { durableCommands } from 'holdfast/commands';
import { idempotency } from 'holdfast/idempotency';
import { postgresCommands, postgresIdempotency } from 'holdfast/postgres';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { growthService } from '../growth-service.ts';
import { readSettings } from '../settings.ts';
import { runModuleCommand } from '../workflow/run-module.ts';
import { restApi } from './rest-api.ts';
import { serviceHealth } from './service-health.ts';
import { WorkflowRuns } from './workflow-runs.ts';

const settings = readSettings();
const { hf, pool, logger, facts, close } = growthService('workflows', 'api', settings);
const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool }) });
const api = restApi({
  pool,
  keys: idempotency({ service: 'workflows', store: postgresIdempotency({ pool }), observers: [facts.idempotency] }),
  commands,
  runs: new WorkflowRuns(commands, runModuleCommand(settings.speed)),
  logger,
  facts,
  askServices: serviceHealth(settings),
  a2aKey: settings.a2aKey,
});
await api.listen({ port: settings.apiPort, host: '127.0.0.1' });
console.log(`api is ready: http://127.0.0.1:${settings.apiPort}/workflow-runs`);

await untilSignal();
await api.close();
await close();
