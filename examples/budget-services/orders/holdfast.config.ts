// The relay of the service orders is a process of its own, apart from the API:
//   holdfast relay --config examples/budget-services/orders/holdfast.config.ts
import type { Holdfast, StartOptions } from 'holdfast';
import type { PoolClient } from 'pg';
import { budgetService } from '../parts/budget-service.ts';
import { ordersWay } from '../parts/orders-way.ts';
import { relayOptions } from '../parts/relay-options.ts';
import { restApp } from '../parts/rest-app.ts';
import { serviceMetrics } from '../parts/service-metrics.ts';
import { readSettings } from '../parts/settings.ts';
import { startTracing } from '../parts/tracing.ts';

const settings = readSettings();
const tracing = startTracing('orders-relay');
const metrics = serviceMetrics();
const page = restApp({ tracer: tracing.tracer, metrics });
await page.listen({ port: settings.relayPort, host: settings.host });
// When the process that started it is gone, it ends as if told to.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

export const hf: Holdfast<PoolClient> = budgetService('orders', settings, ordersWay(settings)).hf;
export const startOptions: StartOptions = relayOptions('orders', settings, metrics);
export const afterStop = async (): Promise<void> => {
  await page.close();
  await tracing.stop();
};
