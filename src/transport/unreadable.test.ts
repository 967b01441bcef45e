import { expect, test } from 'vitest';
import { inboundOf, type Unreadable, unreadableMessage } from './unreadable.ts';

test('what is kept of a message that cannot be read holds no text that a database refuses, wherever it stood [S0.9]', () => {
  const bad = 'a\u0000b\uD800';
  const inbound = {
    sourceId: `amqp:order@order.placed@${bad}`,
    key: bad,
    attributes: { id: bad },
    headers: { [bad]: bad },
    body: new Uint8Array([0, 255]),
  };
  const { payload, ...row } = unreadableMessage(inbound, 'amqp', 'mail', new Error(bad));
  for (const text of [JSON.stringify(row), payload]) {
    expect(text).not.toContain('\\u0000');
    expect(text).not.toContain('\\ud800');
  }
  expect([...inboundOf(JSON.parse(payload) as Unreadable).body]).toEqual([0, 255]);
});
