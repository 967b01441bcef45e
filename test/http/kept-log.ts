import type { LogFields, Logger } from '../../src/kernel/log.ts';

/** A line as a logger got it. */
export interface Line {
  readonly level: keyof Logger;
  readonly fields: LogFields;
  readonly message: string;
}

/** A logger that keeps its lines. */
export function keptLog(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: keyof Logger) =>
    (fields: LogFields, message: string): void =>
      void lines.push({ level, fields, message });
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, lines };
}
