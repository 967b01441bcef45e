import type { Operator } from 'holdfast/operator';
import type { NamedCall } from './measure-calls.ts';

/** Every read of the operator, with the filters people use, the first page and one far behind. */
export async function operatorCalls(operator: Operator, rounds: number): Promise<readonly NamedCall[]> {
  const threeDaysAgo = new Date(Date.now() - 3 * 86_400_000);
  const [letter] = (await operator.deadLetters({ limit: 1 })).items;
  const [message] = (await operator.messages({ status: 'delivered', limit: 1 })).items;
  const customer = [{ path: ['customer', 'id'], value: 42 }];
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'overview, an hour': () => operator.overview(),
    'overview, a week': () => operator.overview({ range: 'week' }),
    'message tabs': () => operator.messageTabs(),
    'messages, first page': () => operator.messages(),
    'messages, 3 days back': () => operator.messages({ until: threeDaysAgo }),
    'messages, failed': () => operator.messages({ status: 'failed' }),
    'messages, failed, 3 days back': () => operator.messages({ status: 'failed', until: threeDaysAgo }),
    'messages, delivered': () => operator.messages({ status: 'delivered' }),
    'messages, discarded': () => operator.messages({ status: 'discarded' }),
    'messages, pending': () => operator.messages({ status: 'pending' }),
    'messages, of a handler': () => operator.messages({ handler: 'handler-3' }),
    'messages, by type with *': () => operator.messages({ type: 'order.*' }),
    'messages, type once in a million': () => operator.messages({ type: 'rare.type' }),
    'messages, by key': () => operator.messages({ key: 'key_77' }),
    'messages, by error': () => operator.messages({ error: 'econn' }),
    'messages, error that is not there': () => operator.messages({ status: 'failed', error: 'nowhere' }),
    'messages, by payload': () => operator.messages({ payload: customer }),
    'messages, failed, by payload': () => operator.messages({ status: 'failed', payload: customer }),
    'dead letters': () => operator.deadLetters(),
    'dead letters, of a handler': () => operator.deadLetters({ handler: 'handler-3' }),
    find: () => operator.find(message?.id ?? ''),
    show: () => operator.show(letter?.id ?? ''),
    why: () => operator.why(letter?.id ?? ''),
    forecast: () => operator.forecast(letter?.id ?? ''),
    trace: () => operator.trace(letter?.messageId ?? ''),
    handlers: () => operator.handlers(),
    'stats, without the history': () => operator.stats({ countDelivered: false }),
    'held keys': () => operator.heldKeys(),
    'idempotency records': () => operator.idempotencyRecords(),
    'idempotency, unknown': () => operator.idempotencyRecords({ status: 'unknown' }),
    commands: () => operator.commands(),
    'outgoing calls': () => operator.outgoingCalls(),
    'outgoing calls, failed': () => operator.outgoingCalls({ isOk: false }),
    breakers: () => operator.breakers(),
    groups: () => operator.groups(),
    bulks: () => operator.bulks(),
    system: () => operator.system(),
    audit: () => operator.audit(),
  };
  return Object.entries(calls).map(([name, run]) => ({ name, rounds, run }));
}
