import type { Io } from './io.ts';
import { paintFor, type Paint } from './paint.ts';
import { type Column, formatFields, formatTable } from './table.ts';

/** Writes answers: one JSON document with `--json`, otherwise text for people. */
export class Output {
  readonly isJson: boolean;
  readonly paint: Paint;
  readonly #io: Io;

  constructor(io: Io, isJson: boolean) {
    this.#io = io;
    this.isJson = isJson;
    this.paint = paintFor(io);
  }

  /** The whole answer: `document` for programs, what `forPeople` writes for people. */
  answer(document: unknown, forPeople: () => void): void {
    if (this.isJson) this.#io.out(`${written(document, 2)}\n`);
    else forPeople();
  }

  /** One of many answers, as it comes: a line of JSON, or what `forPeople` writes. */
  record(document: unknown, forPeople: () => void): void {
    if (this.isJson) this.#io.out(`${written(document)}\n`);
    else forPeople();
  }

  line(text = ''): void {
    this.#io.out(`${text}\n`);
  }

  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
    this.#io.out(formatTable(rows, columns, { width: this.#io.width, title: this.paint.bold }));
  }

  fields(fields: readonly (readonly [name: string, value: string | number | undefined])[]): void {
    this.#io.out(formatFields(fields, this.paint.dim));
  }
}

/** Inside texts JSON escapes but the first 32 control characters; terminals act upon others too, and upon marks that reorder text. */
function written(document: unknown, indent?: number): string {
  return JSON.stringify(document, nullForNothing, indent).replaceAll(
    /[\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Fields are always there: a program need not tell "absent" from "not in this version". */
function nullForNothing(_name: string, value: unknown): unknown {
  return value === undefined ? null : value;
}
