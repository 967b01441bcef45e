/** A broker that a test may break. */
export interface BreakableBroker {
  /** Starts it, also again: on the same port and with what it had written. */
  start(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** It accepts connections and answers nothing, until it goes on. */
  hang(): void;
  goOn(): void;
}
