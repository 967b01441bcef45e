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
      write(toLine({ time: new Date(systemEffects.now().wallMs).toISOString(), level, message, ...fields }));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function toLine(record: Record<string, unknown>): string {
  try {
    return JSON.stringify(record);
  } catch {
    const plain = Object.entries(record).filter(
      ([, value]) => value === null || ['string', 'number', 'boolean'].includes(typeof value),
    );
    return JSON.stringify(Object.fromEntries(plain));
  }
}
