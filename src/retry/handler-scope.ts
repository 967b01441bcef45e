import { asyncScope } from '../system/async-scope.ts';

/** One run of a handler. What it left behind after its end is not inside it any more. */
interface HandlerRun {
  readonly isOver: boolean;
}

const scope = asyncScope<HandlerRun>();

/** Calls a handler so that retries inside it know that they are: its message has attempts of its own. */
export function insideHandler<R>(run: HandlerRun, work: () => R): R {
  return scope.run(run, work);
}

/** Whether this is called by a handler that still runs. */
export function isInsideHandler(): boolean {
  return scope.current()?.isOver === false;
}
