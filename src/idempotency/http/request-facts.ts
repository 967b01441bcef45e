/** The body of a request, as far as somebody has read it. */
export type BodyFacts =
  | { readonly kind: 'none' }
  /** Parsed, however it was written. */
  | { readonly kind: 'parsed'; readonly value: unknown }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too-large' };

/** What an adapter tells of a request. */
export interface RequestFacts {
  readonly method: string;
  /** As it was asked for, without the query. */
  readonly path: string;
  /** With or without `?`. */
  readonly query: string;
  /** The route's pattern, `/orders/:id`, where the framework knows it. */
  readonly route: string | undefined;
  /** Every line of a header, in order; none when it was not sent. Names in lower case. */
  header(name: string): readonly string[];
  /** Called after the key was found good. */
  body(): BodyFacts | Promise<BodyFacts>;
}
