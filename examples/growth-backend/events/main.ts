// The service projections: takes canonical events from Redis Streams, keeps them, and makes projections of them.
import { untilSignal } from '../../local-processes/until-signal.ts';
import { growthService } from '../growth-service.ts';
import { readSettings } from '../settings.ts';
import { registerProjectors } from './projectors.ts';

const settings = readSettings();
const { hf, startOptions, close } = growthService('projections', 'events', settings);
registerProjectors(hf, settings.speed);
const running = await hf.start(startOptions);
console.log('events is ready: it reads the stream grow.events');

await untilSignal();
await running.stop();
await close();
