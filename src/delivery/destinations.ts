/** One destination: scheme, host and port. */
export interface DestinationRecord {
  readonly destination: string;
  readonly breaker: 'closed' | 'open' | 'probing';
  /** Somebody holds it open. */
  readonly isHeld: boolean;
  /** When one message is tried again. */
  readonly probeAt?: Date | undefined;
  readonly failures: number;
  readonly openedAt?: Date | undefined;
  readonly lastError?: string | undefined;
  /** Messages that wait for it. */
  readonly waiting: number;
  readonly lastAttemptAt?: Date | undefined;
  readonly lastStatus?: number | undefined;
}

/** Destinations and their breakers. */
export interface Destinations {
  list(): Promise<readonly DestinationRecord[]>;
  /** Nothing is sent there until `close`. */
  open(destination: string, by: { readonly actor: string; readonly reason?: string | undefined }): Promise<void>;
  close(destination: string, by: { readonly actor: string; readonly reason?: string | undefined }): Promise<boolean>;
}
