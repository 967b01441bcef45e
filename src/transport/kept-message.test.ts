import { expect, test } from 'vitest';
import { inboundOf, type KeptMessage, keptMessage } from './kept-message.ts';

test('what is kept of a message that cannot be read holds no text that a database refuses, wherever it stood [S0.9]', () => {
  const bad = 'a\u0000b\uD800';
  const inbound = {
    sourceId: `amqp:order@order.placed@${bad}`,
    key: bad,
    attributes: { id: bad },
    headers: { [bad]: bad },
    body: new Uint8Array([0, 255]),
  };
  const about = { type: 'holdfast.unreadable', transport: 'amqp', service: 'mail' } as const;
  const { payload, ...row } = keptMessage(inbound, about, bad);
  for (const text of [JSON.stringify(row), payload]) {
    expect(text).not.toContain('\\u0000');
    expect(text).not.toContain('\\ud800');
  }
  expect([...inboundOf(JSON.parse(payload) as KeptMessage).body]).toEqual([0, 255]);
});
