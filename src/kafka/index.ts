export type { KafkaLibrary } from './kafka-library.ts';
export { kafka, type KafkaOptions } from './kafka-transport.ts';
