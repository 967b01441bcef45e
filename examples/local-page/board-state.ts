/** How something is; each has a colour of its own. */
export type Tone = 'queued' | 'running' | 'waiting' | 'delivered' | 'failed' | 'discarded';

/** What is in a table: a text, with its tone and where it leads. */
export type Cell = string | number | { readonly text: string; readonly tone?: Tone; readonly href?: string };

/** A table of the page. */
export interface BoardTable {
  readonly title: string;
  readonly columns: readonly string[];
  /** The newest first. */
  readonly rows: readonly (readonly Cell[])[];
  /** Shown in place of the rows where there are none. */
  readonly empty: string;
}

/** All that the page of an example shows, as it is now. */
export interface Board {
  readonly title: string;
  /** In one sentence. */
  readonly verdict: string;
  readonly counts: readonly { readonly name: string; readonly value: number; readonly isBad?: boolean }[];
  readonly links: readonly { readonly text: string; readonly href: string }[];
  readonly tables: readonly BoardTable[];
  /** Lines for a terminal, each with what it is good for. */
  readonly commands: readonly { readonly about: string; readonly command: string }[];
}
