import { expect, test } from 'vitest';
import type { Transport } from '../transport/transport.ts';
import { TransportRoutes } from './transport-routes.ts';

test('commands stay in their database and with their service, whatever goes through a broker [S0.7]', () => {
  const broker: Partial<Transport> = { name: 'broker', handlers: () => ({}) as never };
  const everything = new TransportRoutes('growth', broker as Transport);
  expect(everything.of('order.placed')).toBeDefined();
  for (const routes of [everything, new TransportRoutes('growth', undefined)]) {
    expect(routes.of('command:module.run')).toBeUndefined();
    expect(routes.sentAs('command:module.run')).toBeUndefined();
    expect(routes.handledAs('command:module.run')).toBe('!growth/command:module.run');
  }
});
