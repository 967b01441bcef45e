// The API of the service orders. It only writes: orders/holdfast.config.ts is the process that publishes.
import { postgresIdempotency } from 'holdfast/postgres';
import { budgetService } from '../parts/budget-service.ts';
import { ordersWay } from '../parts/orders-way.ts';
import { requestKeys } from '../parts/request-keys.ts';
import { serviceMetrics } from '../parts/service-metrics.ts';
import { readSettings, schemaOf } from '../parts/settings.ts';
import { startTracing } from '../parts/tracing.ts';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { restApi } from './rest-api.ts';

const settings = readSettings();
const tracing = startTracing('orders');
const { hf, pool } = budgetService('orders', settings, ordersWay(settings));
const metrics = serviceMetrics();
const truth = postgresIdempotency({ pool, schema: schemaOf('orders') });
const { keys, stop: stopKeys } = requestKeys('orders', truth, settings, metrics);
const api = restApi({ hf, keys, tracer: tracing.tracer, metrics });
await api.listen({ port: settings.ports.orders, host: settings.host });
console.log(`orders is ready: REST at http://127.0.0.1:${settings.ports.orders}/api/orders`);

await untilSignal();
await api.close();
stopKeys();
await pool.end();
await tracing.stop();
