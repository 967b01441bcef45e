import { field, textField, wholeField } from './field.ts';
import { PROVIDER_CODES } from './provider-codes.ts';
import type { Reading } from './rule.ts';
import { statusRule } from './status-rule.ts';
import type { Thrown } from './thrown.ts';

/**
 * Reads the answer of an HTTP service: the status in the places where fetch wrappers, axios, got and the model providers'
 * clients put it, and a provider's code in the error or its parsed body. An answer without a status is an error event
 * inside a stream.
 */
export function readAnswer({ error, textCode }: Thrown): Reading | undefined {
  const status = statusOf(error);
  const known = providerCode(error, textCode);
  const byCode = PROVIDER_CODES.get(known);
  if (status === undefined) return byCode && { ...byCode, code: known };
  const byStatus = statusRule(status);
  const rule = byCode && (byCode.kind === 'quota' || byStatus.verdict === undefined) ? byCode : byStatus;
  const code = known || textCode;
  const facts = code === '' ? { status } : { status, code };
  return field(error, 'isRetryable') === true ? { ...rule, ...facts, likelyTransient: true } : { ...rule, ...facts };
}

/** Below 300 it is no failed answer but the exit code of a process, or an answer that could not be parsed. */
function statusOf(error: unknown): number | undefined {
  for (const place of [error, field(error, 'response')]) {
    const status = wholeField(place, 'status') ?? wholeField(place, 'statusCode');
    if (status !== undefined && status >= 300 && status <= 599) return status;
  }
  return undefined;
}

/** OpenAI and Anthropic keep the parsed body in `error`, once or twice nested; the AI SDK keeps it in `data`. */
function providerCode(error: unknown, textCode: string): string {
  if (PROVIDER_CODES.has(textCode)) return textCode;
  const body = field(error, 'error');
  for (const place of [error, body, field(body, 'error'), field(error, 'data', 'error')]) {
    if (place === undefined) continue;
    for (const name of ['code', 'type']) {
      const code = textField(place, name) ?? '';
      if (PROVIDER_CODES.has(code)) return code;
    }
  }
  return '';
}
