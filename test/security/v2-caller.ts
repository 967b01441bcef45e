/** One answer of the delivery API. */
export interface V2Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** Asks as a client does, with a token. Every method and path is noted, to be compared with the table of routes. */
export class V2Caller {
  readonly asked: (readonly [method: string, path: string])[] = [];
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  async ask(
    method: string,
    path: string,
    { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
  ): Promise<V2Answer> {
    this.asked.push([method, path]);
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const response = await fetch(`${this.#url}/v2/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, ...headers },
      ...(text !== undefined && { body: text }),
    });
    const answer = await response.text();
    return { status: response.status, text: answer, json: JSON.parse(answer) as V2Answer['json'] };
  }
}
