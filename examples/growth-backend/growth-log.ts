import { jsonLogger, type LogFields, type Logger } from 'holdfast';

/**
 * Lines of JSON on the standard output, each with the process it comes from: all that went wrong, and all that belongs to a request. What
 * the engine does by the way is left out.
 */
export function growthLog(process: string): Logger {
  const log = jsonLogger((line) => console.log(line));
  return {
    debug: (fields, message) => {
      if (belongs(fields)) log.info({ process, ...fields }, message);
    },
    info: (fields, message) => log.info({ process, ...fields }, message),
    warn: (fields, message) => log.warn({ process, ...fields }, message),
    error: (fields, message) => log.error({ process, ...fields }, message),
  };
}

function belongs({ requestId, eventId }: LogFields): boolean {
  return requestId !== undefined || eventId !== undefined;
}
