// The service transactions: its API, its consumer of Kafka and its way to Kafka in one process.
import { promisify } from 'node:util';
import { ServerCredentials } from '@grpc/grpc-js';
import { budgetService } from '../parts/budget-service.ts';
import { ledgerWay } from '../parts/ledger-way.ts';
import { relayOptions } from '../parts/relay-options.ts';
import { requestKeys } from '../parts/request-keys.ts';
import { readSettings } from '../parts/settings.ts';
import { startTracing } from '../parts/tracing.ts';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { grpcApi } from './grpc-api.ts';
import { registerHandlers } from './handlers.ts';

const settings = readSettings();
const tracing = startTracing('transactions');
const { hf, pool } = budgetService('transactions', settings, ledgerWay(settings));
registerHandlers(hf, settings.speed);
const running = await hf.start(relayOptions('transactions', settings));
const { keys, stop: stopKeys } = requestKeys('transactions', pool, settings);
const api = grpcApi({ hf, pool, keys, tracer: tracing.tracer });
const address = `127.0.0.1:${settings.ports.transactions}`;
await promisify(api.bindAsync.bind(api))(address, ServerCredentials.createInsecure());
console.log(`transactions is ready: gRPC at ${address}`);

await untilSignal();
api.forceShutdown();
await running.stop();
stopKeys();
await pool.end();
await tracing.stop();
