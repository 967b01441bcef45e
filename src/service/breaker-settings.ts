import type { OptionCheck } from '../kernel/check-options.ts';
import type { BreakerOptions, BreakerSettings } from '../relay/breaker.ts';

const FIELDS: readonly (keyof BreakerOptions)[] = [
  'dependency',
  'failures',
  'openAfterMs',
  'probeAfterMs',
  'maxProbeAfterMs',
];
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/i;
const WAIT = { min: 1, max: 86_400_000, write: 'write milliseconds from 1 to a day' } as const;

/** The breaker of a handler: one of its own unless it names what it calls. */
export function breakerSettings(handler: string, options: BreakerOptions = {}): BreakerSettings {
  const { dependency = handler, failures = 5, probeAfterMs = 1_000 } = options;
  return {
    name: dependency,
    failures,
    openAfterMs: options.openAfterMs ?? (failures === 1 ? 0 : 1_000),
    probeAfterMs,
    maxProbeAfterMs: options.maxProbeAfterMs ?? Math.max(4_000, probeAfterMs),
  };
}

/** Notes what is wrong about the breaker of a handler. `known`: those of other handlers of the service. */
export function checkBreaker(
  check: OptionCheck,
  handler: string,
  options: BreakerOptions | false,
  known: Iterable<BreakerSettings | undefined>,
): void {
  if (options === false || !check.object('breaker', options, "pass { dependency: 'stripe' }, or false for none"))
    return;
  check.known(options, FIELDS, 'breaker.');
  const { dependency, failures, openAfterMs, probeAfterMs, maxProbeAfterMs } = options;
  if (dependency !== undefined && (typeof dependency !== 'string' || !NAME.test(dependency)))
    check.refuseName(
      'breaker.dependency',
      dependency,
      "write letters, digits and . _ -, at most 100, such as 'stripe'",
    );
  if (failures !== undefined)
    check.number('breaker.failures', failures, {
      min: 1,
      max: 1_000,
      integer: true,
      write: 'write a whole number from 1 to 1,000',
    });
  if (openAfterMs !== undefined) check.number('breaker.openAfterMs', openAfterMs, { ...WAIT, min: 0 });
  if (probeAfterMs !== undefined) check.number('breaker.probeAfterMs', probeAfterMs, WAIT);
  if (maxProbeAfterMs !== undefined)
    check.number('breaker.maxProbeAfterMs', maxProbeAfterMs, {
      ...WAIT,
      min: probeAfterMs ?? 1,
      write: 'write milliseconds, not below probeAfterMs',
    });
  const settings = JSON.stringify(breakerSettings(handler, options));
  for (const other of known) {
    if (other && other.name === (dependency ?? handler) && JSON.stringify(other) !== settings)
      check.refuseName(
        'breaker.dependency',
        other.name,
        'give all handlers of one dependency the same numbers: keep them in one place',
      );
  }
}
