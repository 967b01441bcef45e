/** Sessions of people that were ended before their time, for all processes that serve them. */
export interface EndedSessions {
  /** Notes one by its mark; it is forgotten once its time is over. */
  end(mark: string, until: Date): Promise<void>;
  /** Whether it was ended. */
  has(mark: string): Promise<boolean>;
}
