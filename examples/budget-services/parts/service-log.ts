import { jsonLogger, type Logger } from 'holdfast';
import type { ServiceName } from './settings.ts';

/** Lines of JSON on the standard output, each with the service; what is as it should be is left out. */
export function serviceLog(service: ServiceName): Logger {
  const log = jsonLogger((line) => console.log(line));
  return {
    debug: () => undefined,
    info: (fields, message) => log.info({ service, ...fields }, message),
    warn: (fields, message) => log.warn({ service, ...fields }, message),
    error: (fields, message) => log.error({ service, ...fields }, message),
  };
}
