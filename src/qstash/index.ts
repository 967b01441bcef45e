export type { QstashApiOptions } from './api-options.ts';
export { type QstashApi, qstashApi, type QstashFacts } from './qstash-api.ts';
export type { Activity } from './route.ts';
