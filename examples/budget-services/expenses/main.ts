// The service expenses: its API, its consumer of RabbitMQ and its way to Kafka in one process.
import { once } from 'node:events';
import { budgetService } from '../parts/budget-service.ts';
import { ledgerWay } from '../parts/ledger-way.ts';
import { ordersWay } from '../parts/orders-way.ts';
import { relayOptions } from '../parts/relay-options.ts';
import { requestKeys } from '../parts/request-keys.ts';
import { readSettings } from '../parts/settings.ts';
import { startTracing } from '../parts/tracing.ts';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { graphqlApi } from './graphql-api.ts';
import { registerHandlers } from './handlers.ts';

const settings = readSettings();
const tracing = startTracing('expenses');
const { hf, pool } = budgetService('expenses', settings, ordersWay(settings), ledgerWay(settings));
registerHandlers(hf, settings.speed);
const running = await hf.start(relayOptions('expenses', settings));
const { keys, stop: stopKeys } = requestKeys('expenses', pool, settings);
const api = graphqlApi({ hf, pool, keys, tracer: tracing.tracer });
api.listen(settings.ports.expenses, '127.0.0.1');
await once(api, 'listening');
console.log(`expenses is ready: GraphQL at http://127.0.0.1:${settings.ports.expenses}/graphql`);

await untilSignal();
api.close();
api.closeAllConnections();
await running.stop();
stopKeys();
await pool.end();
await tracing.stop();
