// The service projections takes canonical events from Redis Streams, keeps them, and makes projections of them:
//   holdfast relay --config examples/growth-backend/holdfast.config.ts
import type { Holdfast, StartOptions } from 'holdfast';
import type { PoolClient } from 'pg';
import { noteRecorded } from './events/note-recorded.ts';
import { registerProjectors } from './events/projectors.ts';
import { growthService } from './growth-service.ts';
import { readSettings } from './settings.ts';

const settings = readSettings();
const service = growthService('projections', 'events', settings);
registerProjectors(service.hf, settings.speed);
// When the process that started it is gone, it ends as if told to.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

export const hf: Holdfast<PoolClient> = service.hf;
export const startOptions: StartOptions = {
  ...service.startOptions,
  observers: [...(service.startOptions.observers ?? []), noteRecorded(service.facts)],
};
export const afterStop = (): Promise<void> => service.close();
