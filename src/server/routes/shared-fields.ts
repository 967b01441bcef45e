import { described, integer, optional, type Schema, text, whole, words } from '../schema.ts';

/** How much of a list, and from where. */
export const PAGING: {
  readonly limit: Schema<number | undefined>;
  readonly cursor: Schema<string | undefined>;
} = {
  limit: described(optional(whole(1, 1_000)), 'How many at most. Default 100.'),
  cursor: described(optional(text), '`next` of the page before, with the same filter.'),
};

/** Why it is done, for the audit. */
export const REASON: { readonly reason: Schema<string | undefined> } = {
  reason: described(optional(words(2_000)), 'Why, for the audit.'),
};

/** The same where it must be said. */
export const NEEDED_REASON: { readonly reason: Schema<string> } = {
  reason: described(words(2_000), 'Why, for the audit.'),
};

export const GENERATION: { readonly generation: Schema<number | undefined> } = {
  generation: described(optional(integer), 'The generation to process it in. Default: the one it has.'),
};
