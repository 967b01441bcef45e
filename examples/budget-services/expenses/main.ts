// The service expenses: its APIs, its consumer of RabbitMQ and its way to Kafka in one process.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { budgetService } from '../parts/budget-service.ts';
import { ledgerWay } from '../parts/ledger-way.ts';
import { ordersWay } from '../parts/orders-way.ts';
import { relayOptions } from '../parts/relay-options.ts';
import { requestKeys } from '../parts/request-keys.ts';
import { serviceMetrics } from '../parts/service-metrics.ts';
import { readSettings } from '../parts/settings.ts';
import { startTracing } from '../parts/tracing.ts';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { graphqlApi } from './graphql-api.ts';
import { registerHandlers } from './handlers.ts';
import { restApi } from './rest-api.ts';

const settings = readSettings();
const tracing = startTracing('expenses');
const { hf, pool } = budgetService('expenses', settings, ordersWay(settings), ledgerWay(settings));
registerHandlers(hf, settings.speed);
const metrics = serviceMetrics();
const running = await hf.start(relayOptions('expenses', settings, metrics));
const { keys, stop: stopKeys } = requestKeys('expenses', pool, settings, metrics);
const rest = restApi({ hf, keys, tracer: tracing.tracer, metrics });
await rest.ready();
// Both on one port, one span for each request.
const otherwise: RequestListener = (request, response) => rest.routing(request, response);
const api = graphqlApi({ hf, pool, keys, tracer: tracing.tracer, otherwise });
api.listen(settings.ports.expenses, settings.host);
await once(api, 'listening');
console.log(`expenses is ready: GraphQL at http://127.0.0.1:${settings.ports.expenses}/graphql`);

await untilSignal();
api.close();
api.closeAllConnections();
await rest.close();
await running.stop();
stopKeys();
await pool.end();
await tracing.stop();
