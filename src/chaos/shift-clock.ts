/** Moves the time of day of this process: everything in it that asks for it gets a wrong one. Timers go on as they are. */
export interface ShiftedClock {
  jump(byMs: number): void;
}

/** Takes the place of `Date`. For processes of a drill alone. */
export function shiftClock(): ShiftedClock {
  const RealDate = Date;
  let offMs = 0;
  class ShiftedDate extends RealDate {
    constructor(...args: [] | [number | string | Date]) {
      if (args.length === 0) super(RealDate.now() + offMs);
      else super(...args);
    }

    static override now(): number {
      return RealDate.now() + offMs;
    }
  }
  globalThis.Date = ShiftedDate as DateConstructor;
  return { jump: (byMs) => void (offMs += byMs) };
}
