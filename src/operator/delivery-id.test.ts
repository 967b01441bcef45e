import { expect, test } from 'vitest';
import { parseDeliveryId } from './delivery-id.ts';

const ID = '0198c0de-1234-7abc-8def-0123456789ab';

test('a message id and a dead letter id are read, in any case and with spaces around them', () => {
  expect(parseDeliveryId(ID)).toEqual({ messageId: ID, handler: undefined });
  expect(parseDeliveryId(` ${ID.toUpperCase()}:32767\n`)).toEqual({ messageId: ID, handler: 32_767 });
});

test.each(['', '7', ID.slice(1), `${ID}:`, `${ID}:x`, `${ID}:32768`, `${ID}:1:2`, ID.replace('-', ''), undefined])(
  '%j is no id, and the answer says what one looks like',
  (text) => {
    expect(parseDeliveryId(text as string)).toMatchObject({ kind: 'bad-id', problem: expect.stringContaining('36') });
  },
);
