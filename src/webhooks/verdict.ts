/** What is known of a request whose signature holds. */
export interface Verified {
  /** Stable over all tries of one message. */
  readonly messageId: string;
  /**
   * True where the id is read from the signed body: it alone says which message it is then, and the rest of the body may differ from
   * try to try, as at Stripe, which counts in it for whom an event still waits. Default `false`: another body under the same id is
   * refused.
   */
  readonly isIdSigned?: boolean | undefined;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** What the sender calls the message to drop repetitions, when it says so. */
  readonly dedupId: string | undefined;
  /** How long this signature is good for, from now on: so long the message is remembered at least. */
  readonly validForMs: number;
  /**
   * Where the signature does not cover the message id, somebody who has seen a request could send it again under another id. This is
   * a short digest of what is signed, which is accepted for one id only.
   */
  readonly once: string | undefined;
}

/** Whether a request comes from whom it says. `problem` never holds the signature. */
export type Verdict =
  | { readonly kind: 'verified'; readonly verified: Verified }
  | { readonly kind: 'refused'; readonly problem: string }
  /** The sender asks who is there, and has nothing to be done. `answer` is sent as JSON. */
  | { readonly kind: 'answered'; readonly answer: Readonly<Record<string, string>> };

/** Letters of `once`. 96 bits: two signed texts never meet, and nothing can be told from it. */
export const ONCE_LETTERS = 16;

/** How a sender signs, and how it wants to be answered. */
export interface SignatureScheme {
  readonly name: string;
  /** `body` are the bytes as they came. */
  verify(headers: Headers, body: Uint8Array, nowMs: number): Promise<Verdict>;
  /**
   * For how long after the first time the sender may send a message again, in seconds: so long it is remembered at least. Left out:
   * it follows from the retries of the job.
   */
  readonly retriesForS?: number | undefined;
  /** The status and headers that say: do not send this again. */
  readonly final: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
}
