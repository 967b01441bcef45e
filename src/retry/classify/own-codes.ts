import type { ErrorCode } from '../../kernel/error-codes.ts';
import type { Rule } from './rule.ts';

/**
 * What our own codes mean to a retry around the call that threw them. Those without a verdict are judged by their status
 * or by their cause.
 */
export const OWN_CODES: Readonly<Record<ErrorCode, Rule>> = {
  ATTEMPT_TIMEOUT: { kind: 'timeout', verdict: 'retry' },
  BAD_EXPRESSION: { kind: 'invalid', verdict: 'fail' },
  BAD_IDEMPOTENCY_KEY: { kind: 'invalid', verdict: 'fail' },
  CLASSIFIER_FAILED: { kind: 'invalid', verdict: 'fail' },
  DEADLINE_PASSED: { kind: 'timeout', verdict: 'fail' },
  EVENT_LINE_INVALID: { kind: 'truncated', verdict: 'retry' },
  HTTP_BODY_INVALID: { kind: 'invalid', verdict: 'fail' },
  HTTP_BODY_TOO_LARGE: { kind: 'invalid', verdict: 'fail' },
  HTTP_NO_ANSWER: { kind: 'network', likelyTransient: true },
  HTTP_REDIRECT_REFUSED: { kind: 'http', verdict: 'fail' },
  HTTP_STATUS: { kind: 'http' },
  INVALID_OPTIONS: { kind: 'invalid', verdict: 'fail' },
  LLM_CONTENT_REFUSED: { kind: 'invalid', verdict: 'fail' },
  LLM_ERROR_IN_ANSWER: { kind: 'http' },
  PAYLOAD_INVALID: { kind: 'invalid', verdict: 'fail' },
  PAYLOAD_TOO_LARGE: { kind: 'invalid', verdict: 'fail' },
  RETRY_STOPPED: { kind: 'unknown' },
  SCHEMA_TOO_NEW: { kind: 'invalid', verdict: 'fail' },
  STREAM_EVENT_TOO_LARGE: { kind: 'invalid', verdict: 'fail' },
  STREAM_NOT_SSE: { kind: 'invalid', verdict: 'fail' },
  STREAM_TIMEOUT: { kind: 'timeout', verdict: 'retry' },
  STREAM_TRUNCATED: { kind: 'truncated', verdict: 'retry' },
  TRANSACTION_NOT_OPEN: { kind: 'invalid', verdict: 'fail' },
  TRANSACTION_UNKNOWN: { kind: 'invalid', verdict: 'fail' },
};
