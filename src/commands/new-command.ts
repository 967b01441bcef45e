import { OptionCheck } from '../kernel/check-options.ts';
import { CORRELATION_FIELDS, type Correlation } from '../kernel/log.ts';
import { commandTakenAs } from '../outbox/command-type.ts';
import { serializePayload } from '../outbox/payload.ts';
import { activeSpan, traceparentOf } from '../system/active-span.ts';
import { newId } from '../system/new-id.ts';
import type { NewCommand } from './command-store.ts';
import { type CommandDefinition, ON_EXHAUSTED, type OnExhausted } from './command.ts';

/** Who sends commands. */
export interface CommandSender {
  readonly service: string;
  readonly generation: number | undefined;
}

/** What the message of a command carries for the engine: whether later ones of its target wait behind it when it is dead. */
export const ON_EXHAUSTED_HEADER = 'holdfast-on-exhausted';

const MAX_LENGTH = 255;

/**
 * A command with its message. Throws `PAYLOAD_INVALID`, `PAYLOAD_TOO_LARGE`, or `INVALID_OPTIONS` where the target, the key or the
 * correlation cannot be stored.
 */
export async function newCommand<Input, Output>(
  of: string,
  { service, generation }: CommandSender,
  definition: CommandDefinition<Input, Output>,
  payload: Input,
  correlation: Correlation,
): Promise<NewCommand> {
  checkDefinition(of, definition);
  const { name, event } = definition;
  // The schema first: the functions below may trust the payload.
  const text = await serializePayload(event, payload);
  const facts = {
    target: definition.target(payload),
    module: definition.module?.(payload) ?? name,
    idempotencyKey: definition.key(payload),
    onExhausted: definition.onExhausted(payload),
  };
  checkFacts(`${of} of "${name}"`, facts, correlation);
  const id = newId();
  const span = activeSpan();
  const known = knownFields({ actorKey: facts.target, moduleId: facts.module, ...correlation });
  return {
    name,
    ...facts,
    correlation: known,
    message: {
      id,
      type: event.type,
      takenAs: commandTakenAs(service, event.type),
      key: facts.target,
      payload: text,
      idempotencyKey: facts.idempotencyKey,
      source: service,
      target: undefined,
      aggregateType: undefined,
      aggregateId: undefined,
      generation,
      correlationId: correlation.requestId ?? id,
      causationId: undefined,
      traceparent: span && traceparentOf(span),
      tracestate: undefined,
      headers: { ...known, ...(facts.onExhausted === 'blocked' ? { [ON_EXHAUSTED_HEADER]: 'blocked' } : {}) },
      deliverAt: undefined,
      strict: false,
    },
  };
}

function knownFields(correlation: Correlation): Readonly<Record<string, string>> {
  return Object.fromEntries(
    CORRELATION_FIELDS.flatMap((field) => {
      const value = correlation[field];
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

/** Plain JavaScript may pass a name, or nothing where modules import each other in a circle. */
export function checkDefinition(of: string, definition: unknown): void {
  const { event, target, key } = (definition ?? {}) as Partial<Record<'event' | 'target' | 'key', unknown>>;
  if (typeof event === 'object' && typeof target === 'function' && typeof key === 'function') return;
  const check = new OptionCheck(of);
  check.refuseName('command', definition, "pass what command('module.run', …) gives");
  check.done();
}

function checkFacts(
  of: string,
  facts: {
    readonly target: string;
    readonly module: string;
    readonly idempotencyKey: string;
    onExhausted: OnExhausted;
  },
  correlation: Correlation,
): void {
  const check = new OptionCheck(of);
  const texts = { target: facts.target, module: facts.module, key: facts.idempotencyKey };
  for (const [option, value] of Object.entries(texts)) {
    if (!isText(value)) check.refuse(option, value, `give a string of 1 to ${MAX_LENGTH} characters`);
  }
  check.word('onExhausted', facts.onExhausted, ON_EXHAUSTED);
  if (check.object('correlation', correlation, 'pass an object, or leave it out')) {
    check.known(correlation, CORRELATION_FIELDS, 'correlation.');
    for (const [field, value] of Object.entries(correlation)) {
      if (value !== undefined && !isText(value))
        check.refuse(`correlation.${field}`, value, `write text of 1 to ${MAX_LENGTH} characters, or leave it out`);
    }
  }
  check.done();
}

function isText(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || value.length > MAX_LENGTH) return false;
  return value.isWellFormed() && !value.includes('\u0000');
}
