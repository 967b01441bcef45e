import type { NewOrder } from '../place-order.ts';

const NAMES = ['ada', 'grace', 'edsger', 'barbara', 'tony', 'radia', 'leslie', 'frances', 'alan', 'hedy', 'donald'];

/** What is sold, in euro cents. */
const ITEMS: readonly (readonly [item: string, cents: number])[] = [
  ['Coffee beans', 1_250],
  ['Storm lantern', 4_900],
  ['Anchor chain', 18_000],
  ['Sea chart', 2_400],
  ['Rope, 30 m', 3_150],
];

const DOMAIN = '@customers.example';

const CURRENCIES = ['EUR', 'EUR', 'USD', 'EUR', 'GBP'];

/** The order of the n-th customer: the same at every start. */
export function customerOrder(n: number): NewOrder {
  const [item, cents] = ITEMS[n % ITEMS.length] ?? ['Tea', 500];
  return {
    item,
    totalCents: cents + (n % 7) * 100,
    currency: CURRENCIES[n % CURRENCIES.length] ?? 'EUR',
    email: `${NAMES[n % NAMES.length]}${DOMAIN}`,
  };
}

/** True for an address of the live traffic. */
export function isCustomer(email: string): boolean {
  return email.endsWith(DOMAIN);
}

/** All items that are sold. */
export function itemNames(): readonly string[] {
  return ITEMS.map(([item]) => item);
}
