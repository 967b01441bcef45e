import { OptionCheck } from '../kernel/check-options.ts';
import { LONGEST_TIMER_MS } from '../kernel/effects.ts';
import type { AlertOptions } from './alert-on-dead.ts';

const TIMES = ['quietMs', 'oldestMs', 'unservedMs', 'starvingMs', 'remindMs'] as const;

/** Throws `INVALID_OPTIONS` with all that is wrong. */
export function checkAlertOptions(options: AlertOptions): void {
  const check = new OptionCheck('alertOnDead()');
  if (check.object('options', options, 'pass { sink: webhookAlerts({ url }) }')) {
    check.known(options, ['sink', ...TIMES, 'storeFailures', 'effects']);
    const sinks: unknown = options.sink;
    const list = Array.isArray(sinks) ? sinks : [sinks];
    if (list.length === 0 || list.some((sink) => typeof sink !== 'function')) {
      check.refuse('sink', sinks, 'pass a function of the alert, what webhookAlerts() gives, or several of them');
    }
    for (const name of TIMES) {
      const value = options[name];
      if (value !== undefined)
        check.number(name, value, { min: 0, max: LONGEST_TIMER_MS, write: 'write milliseconds, at most 24 days' });
    }
    const { storeFailures } = options;
    if (storeFailures !== undefined) {
      check.number('storeFailures', storeFailures, { min: 1, integer: true, write: 'write a whole number from 1 on' });
    }
  }
  check.done();
}
