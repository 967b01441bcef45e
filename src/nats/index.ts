export type { NatsLibrary } from './nats-library.ts';
export { nats, type NatsOptions } from './nats.ts';
