/** The correlation fields a log line carries when it knows them. Own fields may stand beside them. */
export interface LogFields {
  readonly requestId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly userId?: string | undefined;
  readonly orgId?: string | undefined;
  readonly actorType?: string | undefined;
  readonly actorKey?: string | undefined;
  readonly runId?: string | undefined;
  readonly moduleId?: string | undefined;
  readonly missionId?: string | undefined;
  readonly missionInstanceId?: string | undefined;
  readonly stageId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly source?: string | undefined;
  readonly eventType?: string | undefined;
  readonly sagaId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly operation?: string | undefined;
  readonly attempt?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly latencyMs?: number | undefined;
  readonly httpStatus?: number | undefined;
  readonly retryable?: boolean | undefined;
  readonly dlqId?: string | undefined;
  readonly [field: string]: unknown;
}

/** Whose action something is part of, and of what: what is handed on from one step of an action to the next. */
export const CORRELATION_FIELDS = [
  'requestId',
  'traceId',
  'userId',
  'orgId',
  'actorType',
  'actorKey',
  'runId',
  'moduleId',
  'missionId',
  'missionInstanceId',
  'stageId',
  'sagaId',
] as const;

/** The fields of `CORRELATION_FIELDS` that are known. */
export type Correlation = { readonly [Field in (typeof CORRELATION_FIELDS)[number]]?: string | undefined };

/** Where log lines go. pino, bunyan and the like fit as they are; nothing is logged when none is given. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** pino's: spares the making of lines that nobody wants. Without it every line is made. */
  isLevelEnabled?(level: string): boolean;
}
