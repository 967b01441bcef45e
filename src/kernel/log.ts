/** The correlation fields a log line carries when it knows them. Own fields may stand beside them. */
export interface LogFields {
  readonly requestId?: string;
  readonly traceId?: string;
  readonly userId?: string;
  readonly orgId?: string;
  readonly actorType?: string;
  readonly actorKey?: string;
  readonly runId?: string;
  readonly moduleId?: string;
  readonly missionId?: string;
  readonly missionInstanceId?: string;
  readonly stageId?: string;
  readonly eventId?: string;
  readonly source?: string;
  readonly eventType?: string;
  readonly sagaId?: string;
  readonly idempotencyKey?: string;
  readonly operation?: string;
  readonly attempt?: number;
  readonly maxAttempts?: number;
  readonly latencyMs?: number;
  readonly httpStatus?: number;
  readonly retryable?: boolean;
  readonly dlqId?: string;
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
}
