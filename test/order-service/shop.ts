import { expect, onTestFinished } from 'vitest';
import { startOrderService } from '../../examples/order-service/order-service.ts';
import type { HandlerState, OrderState, ShopState } from '../../examples/order-service/shop-state.ts';
import type { TestServer } from '../support/needs.ts';
import { freshDatabase } from './fresh-database.ts';

const ORDER = { item: 'Coffee beans', total: 12.5, email: 'ada@example.org' };

/** What a test asks of the service. */
export interface ShopClient {
  readonly url: string;
  /** Sends JSON; answers the status and the body. */
  call(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: never }>;
  /** Places an order and answers its number and message. */
  place(order?: object): Promise<{ readonly number: number; readonly messageId: string }>;
  state(): Promise<ShopState>;
  /** Waits until the handler stands so with the order, and answers how it stands. */
  until(number: number, handler: string, status: HandlerState['status']): Promise<HandlerState>;
  /** Waits until nothing is left to do. */
  untilDone(orders: number): Promise<ShopState>;
}

/** The order service in this process, on a database of its own on that server; stopped and dropped at the end of the test. */
export async function startShop(server: TestServer, speed = 40): Promise<ShopClient> {
  const service = await startOrderService({ databaseUrl: await freshDatabase(server), speed });
  onTestFinished(() => service.stop());
  const { url } = await service.listen(0);
  return shopAt(url);
}

/** A client of the service at this address. */
export function shopAt(url: string): ShopClient {
  const call: ShopClient['call'] = async (method, path, body) => {
    const init =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(url + path, { method, ...init });
    return { status: response.status, body: (await response.json()) as never };
  };
  const state = async (): Promise<ShopState> => (await call('GET', '/orders')).body;
  const find = async (number: number, handler: string): Promise<HandlerState | undefined> =>
    orderIn(await state(), number)?.handlers.find((one) => one.name === handler);
  return {
    url,
    call,
    state,
    async place(order = {}) {
      const { status, body } = await call('POST', '/orders', { ...ORDER, ...order });
      expect({ status, body }).toMatchObject({ status: 201 });
      return body;
    },
    async until(number, handler, status) {
      let found: HandlerState | undefined;
      await expect.poll(async () => (found = await find(number, handler))?.status, { interval: 20 }).toBe(status);
      return found as HandlerState;
    },
    async untilDone(orders) {
      let last: ShopState | undefined;
      await expect
        .poll(async () => (last = await state()).totals, { timeout: 50_000, interval: 50 })
        .toMatchObject({ orders, counted: orders, charged: orders, receipts: orders });
      return last as ShopState;
    },
  };
}

export function orderIn(state: ShopState, number: number): OrderState | undefined {
  return state.orders.find((order) => order.number === number);
}
