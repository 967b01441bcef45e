// The service expenses: its APIs, its consumer of RabbitMQ and its way to Kafka in one process, all data in MongoDB.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { mongoIdempotency } from 'holdfast/mongodb';
import { ledgerWay } from '../parts/ledger-way.ts';
import { ordersWay } from '../parts/orders-way.ts';
import { relayOptions } from '../parts/relay-options.ts';
import { requestKeys } from '../parts/request-keys.ts';
import { serviceMetrics } from '../parts/service-metrics.ts';
import { readSettings } from '../parts/settings.ts';
import { startTracing } from '../parts/tracing.ts';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { expenseService } from './expense-service.ts';
import { graphqlApi } from './graphql-api.ts';
import { registerHandlers } from './handlers.ts';
import { restApi } from './rest-api.ts';

const settings = readSettings();
const tracing = startTracing('expenses');
const service = expenseService(settings);
registerHandlers(service);
const metrics = serviceMetrics();
const options = relayOptions('expenses', settings, metrics);
// Two parts that each have one broker: orders come from RabbitMQ, expenses leave through Kafka.
const sending = await service.outbox.start({ ...options, transport: ledgerWay(settings).transport });
const receiving = await service.inbox.start({ ...options, transport: ordersWay(settings).transport });
const truth = mongoIdempotency({ db: service.db });
const { keys, stop: stopKeys } = requestKeys('expenses', truth, settings, metrics);
const rest = restApi({ service, keys, tracer: tracing.tracer, metrics });
await rest.ready();
// Both on one port, one span for each request.
const otherwise: RequestListener = (request, response) => rest.routing(request, response);
const api = graphqlApi({ service, keys, tracer: tracing.tracer, otherwise });
api.listen(settings.ports.expenses, settings.host);
await once(api, 'listening');
console.log(`expenses is ready: GraphQL at http://127.0.0.1:${settings.ports.expenses}/graphql`);

await untilSignal();
api.close();
api.closeAllConnections();
await rest.close();
await receiving.stop();
await sending.stop();
stopKeys();
await service.client.close();
await tracing.stop();
