import { expect } from 'vitest';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { needs } from '../support/needs.ts';
import { openDeliveries, SECRET } from './delivery-database.ts';

const test = needs('postgres');

test('signing keys are made once, kept sealed, and turned: the next becomes the current [X.8] [X.17]', async ({
  postgres,
}) => {
  const { database, signingKeys } = await openDeliveries(postgres);
  const { pool, schema } = database;
  const other = postgresDelivery({ pool, schema, secret: SECRET }).signingKeys;
  const [keys, same] = await Promise.all([signingKeys.get(), other.get()]);
  expect(same).toEqual(keys);
  expect(keys.current).toMatch(/^sig_\w{32}$/);
  const [row] = await database.sql(`select * from $S.http_signing_key`);
  expect(JSON.stringify(row)).not.toContain(keys.current.slice(4));
  const turned = await signingKeys.rotate();
  expect(turned.current).toBe(keys.next);
  expect([keys.current, keys.next]).not.toContain(turned.next);
  expect(await other.get()).toEqual(turned);
  const wrong = postgresDelivery({ pool, schema, secret: `${SECRET}!` });
  await expect(wrong.signingKeys.get()).rejects.toMatchObject({ code: 'SECRET_WRONG' });
  await expect(wrong.sender.signingKeys()).rejects.toMatchObject({ code: 'SECRET_WRONG' });
  await expect(postgresDelivery({ pool, schema }).signingKeys.get()).rejects.toMatchObject({ code: 'SECRET_MISSING' });
});

test('a server begins with the signing keys it is given where there are none yet [X.8]', async ({ postgres }) => {
  const firstKeys = { current: 'sig_1', next: 'sig_2' };
  const { signingKeys, sender } = await openDeliveries(postgres, { firstKeys });
  expect(await sender.signingKeys()).toEqual(firstKeys);
  const { next } = await signingKeys.rotate();
  expect(await sender.signingKeys()).toEqual({ current: 'sig_2', next });
});

test('a token is known by its hash alone, and not any more once it is revoked [X.17]', async ({ postgres }) => {
  const { database, tokens } = await openDeliveries(postgres);
  const { id, token } = await tokens.create('ci', ['publish', 'operate']);
  expect(await tokens.verify(token)).toMatchObject({ id, name: 'ci', scopes: ['publish', 'operate'] });
  expect(await tokens.verify(`${token}x`)).toBeUndefined();
  expect(await tokens.list()).toMatchObject([{ id, createdAt: expect.any(Date), lastUsedAt: expect.any(Date) }]);
  expect(JSON.stringify(await database.sql(`select * from $S.http_token`))).not.toContain(token.slice(3));
  expect(await tokens.revoke(id)).toBe(true);
  expect(await tokens.revoke(id)).toBe(false);
  expect(await tokens.revoke('nonsense')).toBe(false);
  expect(await tokens.verify(token)).toBeUndefined();
});
