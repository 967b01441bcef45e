import type { LogFields, Logger } from '../kernel/log.ts';
import { systemEffects } from './effects.ts';

/**
 * A logger that writes one JSON object a line, for programs that have none yet. Default: to the standard error stream.
 * A field that cannot be written as JSON is left out; logging never throws.
 */
export function jsonLogger(write: (line: string) => void = (line) => console.error(line)): Logger {
  const at =
    (level: string) =>
    (fields: LogFields, message: string): void => {
      const own = { time: new Date(systemEffects.now().wallMs).toISOString(), level, message };
      write(toLine({ ...own, ...fields, ...own }));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function toLine(record: Record<string, unknown>): string {
  try {
    return JSON.stringify(record);
  } catch {
    return JSON.stringify(Object.fromEntries(Object.entries(record).filter(([, value]) => isWritable(value))));
  }
}

function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
