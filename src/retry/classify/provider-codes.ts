import { type Rule, rules } from './rule.ts';

/**
 * Codes and types in the error bodies and in-band error events of model providers. They decide where the HTTP status
 * does not (an error event after a 200, a 529), except for a spent quota, which arrives as a 429 and never ends by waiting.
 */
export const PROVIDER_CODES: ReadonlyMap<string, Rule> = new Map([
  ...rules('overload', 'retry', ['overloaded', 'overloaded_error', 'server_is_overloaded', 'slow_down']),
  ...rules('rate-limit', 'retry', ['rate_limit_error', 'rate_limit_exceeded', 'rate_limit_reached']),
  ...rules('http', 'retry', ['api_error', 'internal_server_error', 'server_error']),
  ...rules('timeout', 'retry', ['timeout_error']),
  ...rules('quota', 'fail', [
    'billing_error',
    'billing_hard_limit_reached',
    'billing_not_active',
    'insufficient_quota',
  ]),
  ...rules('auth', 'fail', ['authentication_error', 'invalid_api_key', 'permission_error']),
  ...rules('invalid', 'fail', [
    'content_filter',
    'content_policy_violation',
    'context_length_exceeded',
    'invalid_prompt',
    'invalid_request_error',
    'model_not_found',
    'not_found_error',
    'request_too_large',
    'unsupported_model',
  ]),
]);

/** Error names by which AWS services say "slower", often with status 400. */
export const AWS_THROTTLING: ReadonlySet<string> = new Set([
  'BandwidthLimitExceeded',
  'EC2ThrottledException',
  'PriorRequestNotComplete',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'TransactionInProgressException',
]);
