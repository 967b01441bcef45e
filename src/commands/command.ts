import { OptionCheck } from '../kernel/check-options.ts';
import type { StandardSchema } from '../kernel/standard-schema.ts';
import { COMMAND_PREFIX } from '../outbox/command-type.ts';
import type { EventDefinition } from '../outbox/event.ts';
import { event } from '../outbox/event.ts';
import { checkPolicy } from '../retry/check-policy.ts';
import type { Classify } from '../retry/failure.ts';
import type { Policy, PolicyOptions } from '../retry/policy.ts';

/** What a command becomes when its attempts are used up. */
export const ON_EXHAUSTED = ['blocked', 'dlq'] as const;

/** `blocked`: later commands of its target wait until it is replayed or discarded · `dlq`: they go on. Both write a dead letter. */
export type OnExhausted = (typeof ON_EXHAUSTED)[number];

/** What `command` takes besides the name. */
export interface CommandOptions<Input, Output> {
  /** Any Standard Schema validator. What does not fit is refused at `send`, and final at the handler. */
  readonly schema?: StandardSchema<Output, Input> | undefined;
  /** Whom it is asked of, for example a workflow run: commands of one target run one after the other, in their order. */
  readonly target: (payload: Input) => string;
  /** Which part of the target it is about. Default: the name of the command. */
  readonly module?: ((payload: Input) => string) | undefined;
  /** What tells it from every other command of the service, at most 255 characters: `idempotencyKey({ … })` makes one. */
  readonly key: (payload: Input) => string;
  /** What becomes of it when its attempts are used up: a word, or a function of the payload. Default `'dlq'`. */
  readonly onExhausted?: OnExhausted | ((payload: Input) => OnExhausted) | undefined;
  /** A policy, or what differs from that of handlers: 5 attempts, 1 s doubling to 5 min, full jitter. */
  readonly policy?: Policy | PolicyOptions | undefined;
  /** Asked before the built-in rules for handlers. */
  readonly classify?: Classify | undefined;
  /** How long one attempt may take, in milliseconds. Default five minutes. */
  readonly timeoutMs?: number | undefined;
}

/** A kind of command. Made once, shared by who sends and who handles it. */
export interface CommandDefinition<Input, Output = Input> {
  readonly name: string;
  /** Its messages: of the type `command:<name>`. */
  readonly event: EventDefinition<Input, Output>;
  readonly module: ((payload: Input) => string) | undefined;
  readonly target: (payload: Input) => string;
  readonly key: (payload: Input) => string;
  readonly onExhausted: (payload: Input) => OnExhausted;
  readonly policy: Policy | PolicyOptions | undefined;
  readonly classify: Classify | undefined;
  readonly timeoutMs: number | undefined;
}

const NAME = /^[a-z0-9][a-z0-9._:/-]{0,149}$/i;
const FIELDS: readonly (keyof CommandOptions<unknown, unknown>)[] = [
  'schema',
  'target',
  'module',
  'key',
  'onExhausted',
  'policy',
  'classify',
  'timeoutMs',
];

/** Declares a kind of command: `command('module.run', { schema, target: (p) => p.runId, key: (p) => … })`. */
export function command<Input = unknown, Output = Input>(
  name: string,
  options: CommandOptions<Input, Output>,
): CommandDefinition<Input, Output> {
  const check = new OptionCheck('command()');
  if (typeof name !== 'string' || !NAME.test(name)) {
    check.refuseName('name', name, "write letters, digits and . _ : / -, at most 150, for example 'module.run'");
  }
  if (check.object('options', options, 'pass { target, key } and what else you need')) checkOptions(check, options);
  check.done();
  const { schema, target, key, module, onExhausted = 'dlq', policy, classify, timeoutMs } = options;
  return Object.freeze({
    name,
    event: event(`${COMMAND_PREFIX}${name}`, { schema, key: target }),
    target,
    module,
    key,
    onExhausted: typeof onExhausted === 'function' ? onExhausted : () => onExhausted,
    policy,
    classify,
    timeoutMs,
  });
}

function checkOptions<Input, Output>(check: OptionCheck, options: CommandOptions<Input, Output>): void {
  check.known(options, FIELDS);
  const { schema, policy, classify, timeoutMs, onExhausted } = options;
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    check.refuse('schema', schema, 'pass a Standard Schema: zod, valibot and arktype schemas fit as they are');
  }
  for (const field of ['target', 'key'] as const) {
    if (typeof options[field] !== 'function') check.refuse(field, options[field], 'pass a function of the payload');
  }
  if (options.module !== undefined && typeof options.module !== 'function')
    check.refuse('module', options.module, 'pass a function of the payload, or leave it out');
  if (onExhausted !== undefined && typeof onExhausted !== 'function')
    check.word('onExhausted', onExhausted, ON_EXHAUSTED);
  if (policy !== undefined) checkPolicy(check, 'policy', policy);
  if (classify !== undefined && typeof classify !== 'function')
    check.refuse('classify', classify, 'pass a function of the error, or leave it out');
  if (timeoutMs !== undefined) {
    check.number('timeoutMs', timeoutMs, { min: 1, max: Infinity, write: 'write milliseconds from 1, or Infinity' });
  }
}
