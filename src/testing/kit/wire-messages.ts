/** One message of PostgreSQL's protocol. `kind` is its letter; absent in what a client says before anything else. */
export interface WireMessage {
  readonly kind: string | undefined;
  readonly body: Buffer;
  /** As it came. */
  readonly whole: Buffer;
}

/** Asks whether the connection may be encrypted; answered with one byte, and asked before anything else. */
const QUESTIONS: readonly number[] = [80_877_103, 80_877_104];

/** Cuts what one side says into messages. */
export class WireMessages {
  #rest: Buffer = Buffer.alloc(0);
  /** What a client says first has no letter. */
  #hasLetter: boolean;

  constructor(side: 'client' | 'server') {
    this.#hasLetter = side === 'server';
  }

  *read(data: Buffer): Generator<WireMessage> {
    this.#rest = Buffer.concat([this.#rest, data]);
    for (;;) {
      const head = this.#hasLetter ? 1 : 0;
      if (this.#rest.length < head + 4) return;
      const end = head + this.#rest.readUInt32BE(head);
      if (this.#rest.length < end) return;
      const whole = this.#rest.subarray(0, end);
      const kind = head === 1 ? String.fromCharCode(whole[0] ?? 0) : undefined;
      this.#rest = this.#rest.subarray(end);
      const body = whole.subarray(head + 4);
      if (kind !== undefined || !isQuestion(body)) this.#hasLetter = true;
      yield { kind, body, whole };
    }
  }
}

/** Whether the client asks for encryption, which this way does not have. */
export function isQuestion(body: Buffer): boolean {
  return body.length === 4 && QUESTIONS.includes(body.readUInt32BE(0));
}

/** Which statement a client's messages run: those it prepared are called by name later. */
export class StatementNames {
  readonly #statements = new Map<string, string>();
  readonly #portals = new Map<string, string>();

  /** The statement that this message runs; nothing when it runs none. */
  ranBy({ kind, body }: WireMessage): string | undefined {
    if (kind === 'Q') return textAt(body, 0)[0];
    if (kind === 'E') return this.#portals.get(textAt(body, 0)[0]) ?? '';
    if (kind === 'P') {
      const [name, next] = textAt(body, 0);
      this.#statements.set(name, textAt(body, next)[0]);
    }
    if (kind === 'B') {
      const [portal, next] = textAt(body, 0);
      this.#portals.set(portal, this.#statements.get(textAt(body, next)[0]) ?? '');
    }
    return undefined;
  }
}

/** The text that begins there and ends with a zero, and where the next thing begins. */
function textAt(body: Buffer, start: number): [text: string, next: number] {
  const end = body.indexOf(0, start);
  return end === -1 ? [body.toString('utf8', start), body.length] : [body.toString('utf8', start, end), end + 1];
}
