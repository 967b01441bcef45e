/** An address that a name stands for. */
export interface ResolvedAddress {
  readonly address: string;
  /** 4 or 6. */
  readonly family: number;
}

/** Asks for all addresses of a name. */
export type Resolve = (
  host: string,
  answer: (error: Error | null, addresses: readonly ResolvedAddress[]) => void,
) => void;
