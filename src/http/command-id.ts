/**
 * The id of one prompt in one session: `msg_` and 32 hexadecimal digits. The same session and key give the same id in any
 * process and after any restart; it tells nothing about either.
 */
export async function commandId(sessionId: string, idempotencyKey: string): Promise<string> {
  // As JSON, so that ('a', 'b:c') and ('a:b', 'c') differ.
  const bytes = new TextEncoder().encode(JSON.stringify([sessionId, idempotencyKey]));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const digits = Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0'));
  return `msg_${digits.join('')}`;
}
