import type { JsonSchema } from './tool.ts';

/** A text with a line about it. */
export function text(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: 'string', description, minLength: 1, maxLength: 2_000, ...more };
}

/** A whole number with a line about it. */
export function whole(description: string, minimum: number, maximum: number): JsonSchema {
  return { type: 'integer', description, minimum, maximum };
}

/** An object that has at least these fields. */
export function object(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required };
}

/** A part of a list. */
export function page(item: JsonSchema): JsonSchema {
  return object(
    {
      items: { type: 'array', items: item },
      next: { type: 'string', description: 'pass it as cursor for the next part; absent at the end' },
    },
    ['items'],
  );
}

/** Anything: described by the documentation of the HTTP API. */
export const RECORD: JsonSchema = { type: 'object' };

export const STRING: JsonSchema = { type: 'string' };

export const LIST: JsonSchema = { type: 'array', items: RECORD };

/** How much of a list. */
export const PAGING: Readonly<Record<string, JsonSchema>> = {
  limit: whole('how many, 20 unless said', 1, 100),
  cursor: text('where to go on: next of the part before'),
};

/** Which dead letters. */
export const DEAD_LETTER_FILTER: Readonly<Record<string, JsonSchema>> = {
  service: text('whose handler failed'),
  handler: text('a handler, or service/handler'),
  type: text('the type of the message'),
  key: text('the key of the message'),
  since: text('failed within this time (15m, 2h, 7d), or after a date (2026-01-31T12:00Z)'),
  error_code: text('the code of the last error'),
  group: text('the id of an error group, from list_error_groups'),
  search: text('part of the id, type, key, error or payload'),
};

/** What every tool that changes something takes besides. */
export const WRITE: Readonly<Record<string, JsonSchema>> = {
  preview_token: text('from the dry run of this very call; without it nothing is changed'),
  reason: text('why, for the audit; needed with the token'),
};

/** What every tool that changes something answers. */
export const WRITTEN: JsonSchema = object(
  {
    isDryRun: { type: 'boolean', description: 'nothing was changed' },
    effect: object(
      {
        verb: STRING,
        count: { type: 'integer' },
        items: LIST,
        happens: { type: 'string', description: 'what would happen, or what did' },
      },
      ['verb', 'count', 'items', 'happens'],
    ),
    preview_token: { type: 'string', description: 'call again with it and a reason to do this, and only this' },
    expires_in_seconds: { type: 'integer' },
    outcomes: LIST,
  },
  ['isDryRun', 'effect'],
);
