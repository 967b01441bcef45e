import { jsonLogger, type Logger } from 'holdfast';
import type { ServiceName } from './settings.ts';

/** Lines of JSON on the standard output, each with the service; what is as it should be is left out. */
export function serviceLog(service: ServiceName): Logger {
  const { info, warn, error } = jsonLogger((line) => console.log(line));
  const of =
    (write: Logger['info']): Logger['info'] =>
    (fields, message) =>
      write({ service, ...fields }, message);
  return { debug: () => undefined, info: of(info), warn: of(warn), error: of(error) };
}
