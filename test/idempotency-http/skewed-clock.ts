// node --import skewed-clock.ts …: the clock of the process goes wrong by SKEW_MS milliseconds. What measures time only goes right.
const skewMs = Number(process.env['SKEW_MS']);
const RealDate = Date;
const now = (): number => RealDate.now() + skewMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: [], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown)),
});
