const sent = new Set<string>();

/** Stands where a mail provider stands. Overloaded at the first attempt; sends one mail for each key, as good ones do. */
export async function sendMail(to: string, idempotencyKey: string, attempt: number): Promise<void> {
  if (attempt === 1) throw Object.assign(new Error('the mail provider is overloaded'), { status: 503 });
  if (!sent.has(idempotencyKey)) console.log(`mail    to ${to}`);
  sent.add(idempotencyKey);
}
