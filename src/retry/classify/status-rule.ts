import type { Rule } from './rule.ts';

const RULES: Readonly<Record<number, Rule>> = {
  400: { kind: 'invalid', verdict: 'fail' },
  401: { kind: 'auth', verdict: 'fail' },
  402: { kind: 'quota', verdict: 'fail' },
  403: { kind: 'auth', verdict: 'fail' },
  404: { kind: 'http', verdict: 'fail' },
  408: { kind: 'timeout', verdict: 'retry' },
  409: { kind: 'conflict', verdict: 'fail' },
  // Misdirected, locked, failed dependency, client closed: the server's state, not the request, is at fault.
  421: { kind: 'http' },
  422: { kind: 'invalid', verdict: 'fail' },
  423: { kind: 'conflict' },
  424: { kind: 'http' },
  425: { kind: 'http', verdict: 'retry' },
  429: { kind: 'rate-limit', verdict: 'retry' },
  499: { kind: 'http' },
  500: { kind: 'http', verdict: 'retry' },
  501: { kind: 'http', verdict: 'fail' },
  502: { kind: 'http', verdict: 'retry' },
  503: { kind: 'overload', verdict: 'retry' },
  504: { kind: 'timeout', verdict: 'retry' },
  505: { kind: 'http', verdict: 'fail' },
  // Not a registered status. A provider that means overload by it says so in the body, too.
  529: { kind: 'overload' },
};

/**
 * What an HTTP status means. Retried are 408, 425, 429, 500, 502, 503 and 504; a 4xx that is not listed fails; anything
 * else (other 5xx, a 2xx or 3xx that was thrown) is left to the classifier's answer for unknown errors.
 */
export function statusRule(status: number): Rule {
  const rule = RULES[status];
  if (rule) return rule;
  return status >= 400 && status < 500 ? { kind: 'http', verdict: 'fail' } : { kind: 'http' };
}
