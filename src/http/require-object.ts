import { OptionCheck } from '../kernel/check-options.ts';

/** Throws `INVALID_OPTIONS` of `of` unless the argument called `name` is an object, before anything is read from it. */
export function requireObject(of: string, name: string, value: unknown, write: string): void {
  const check = new OptionCheck(of);
  check.object(name, value, write);
  check.done();
}
