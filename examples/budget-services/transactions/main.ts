// The service transactions: its APIs, its consumer of Kafka and its way to Kafka in one process.
import { promisify } from 'node:util';
import { ServerCredentials } from '@grpc/grpc-js';
import { postgresIdempotency } from 'holdfast/postgres';
import { budgetService } from '../parts/budget-service.ts';
import { ledgerWay } from '../parts/ledger-way.ts';
import { relayOptions } from '../parts/relay-options.ts';
import { requestKeys } from '../parts/request-keys.ts';
import { serviceMetrics } from '../parts/service-metrics.ts';
import { readSettings, schemaOf } from '../parts/settings.ts';
import { startTracing } from '../parts/tracing.ts';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { grpcApi } from './grpc-api.ts';
import { registerHandlers } from './handlers.ts';
import { restApi } from './rest-api.ts';

const settings = readSettings();
const tracing = startTracing('transactions');
const { hf, pool } = budgetService('transactions', settings, ledgerWay(settings));
registerHandlers(hf, settings.speed);
const metrics = serviceMetrics();
const running = await hf.start(relayOptions('transactions', settings, metrics));
const truth = postgresIdempotency({ pool, schema: schemaOf('transactions') });
const { keys, stop: stopKeys } = requestKeys('transactions', truth, settings, metrics);
const api = grpcApi({ hf, pool, keys, tracer: tracing.tracer });
const address = `${settings.host}:${settings.ports.transactions}`;
await promisify(api.bindAsync.bind(api))(address, ServerCredentials.createInsecure());
const rest = restApi({ hf, keys, tracer: tracing.tracer, metrics });
await rest.listen({ port: settings.transactionsRestPort, host: settings.host });
console.log(`transactions is ready: gRPC at ${address}`);

await untilSignal();
api.forceShutdown();
await rest.close();
await running.stop();
stopKeys();
await pool.end();
await tracing.stop();
