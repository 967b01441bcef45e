import type { SignatureScheme } from './verdict.ts';

/** What became of a delivery. */
export type JobOutcome =
  /** `error`: what came after the commit, which stays. */
  | { readonly kind: 'done'; readonly error?: unknown }
  /** It, or what it is about, had been done before. Nothing was done now. */
  | { readonly kind: 'duplicate' }
  /** Somebody else is at it. */
  | { readonly kind: 'running'; readonly retryAfterS: number }
  | { readonly kind: 'refused'; readonly problem: string }
  /** There was nothing to be done. */
  | { readonly kind: 'answered'; readonly answer: Readonly<Record<string, string>> }
  /** It will never work: the sender should not try again. */
  | { readonly kind: 'final'; readonly problem: string; readonly error?: unknown }
  | { readonly kind: 'failed'; readonly error: unknown; readonly retryAfterS: number | undefined }
  | { readonly kind: 'store-down'; readonly error: unknown };

/** The answer a sender understands. It says nothing that came from the request. */
export function jobAnswer(outcome: JobOutcome, scheme: SignatureScheme): Response {
  switch (outcome.kind) {
    case 'done':
      return answer(200, 'done');
    case 'duplicate':
      return answer(200, 'already done');
    case 'running':
      return answer(409, 'being done', retryAfter(outcome.retryAfterS));
    case 'refused':
      return answer(401, outcome.problem);
    case 'answered':
      return Response.json(outcome.answer);
    case 'final':
      return answer(scheme.final.status, outcome.problem, scheme.final.headers);
    case 'failed':
      return answer(500, 'failed', outcome.retryAfterS === undefined ? {} : retryAfter(outcome.retryAfterS));
    case 'store-down':
      return answer(503, 'it cannot be told whether this was done before', retryAfter(1));
  }
}

function answer(status: number, result: string, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ result }, { status, headers });
}

function retryAfter(seconds: number): Record<string, string> {
  return { 'Retry-After': String(seconds) };
}
