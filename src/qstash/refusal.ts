/** A request that is not done: the status, and a sentence for people with the next step. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** What was written cannot be meant. */
export function badRequest(message: string): Refusal {
  return new Refusal(400, message);
}

/** There is none. */
export function notFound(what: string): Refusal {
  return new Refusal(404, `${what} was not found`);
}

/** Where what is not offered, and what differs, is listed. */
export const GUIDE = 'docs/delivery.md';
