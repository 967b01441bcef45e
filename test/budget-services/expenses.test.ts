import { randomInt, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { run } from '../agent-chat/process.ts';
import { needs } from '../support/needs.ts';
import { freePort } from '../support/private-server.ts';
import { requestOf, type Sent, spentOf, type Told } from './requests.ts';
import { type Budget, BUDGET_SERVERS, sharedBudget } from './shared-budget.ts';

const theBudget = sharedBudget();
const test = needs(...BUDGET_SERVERS).extend<{ budget: Budget }>({
  budget: async ({ postgres, mongodb, redis, rabbitmq, kafka }, use) =>
    use(await theBudget({ postgres, mongodb, redis, rabbitmq, kafka })),
});

/** Sends a request again until it is answered, as a client does whose connection breaks. */
async function untilAnswered({ send }: Sent, status: number): Promise<Told> {
  let told: Told | undefined;
  const sent = async (): Promise<number | undefined> => {
    told = await send().catch(() => undefined);
    return told?.status;
  };
  await expect.poll(sent, { interval: 200 }).toBe(status);
  return told as Told;
}

test(
  'the budget services: while expenses is killed at random, no request and no order is lost or has a second effect [S1.1] [S1.5] [S1.6]',
  // MongoDB keeps what a killed process left open for up to a minute, each time.
  { timeout: 400_000 },
  async ({ budget }) => {
    const budgetId = 'random';
    const each = 12;
    const expenses = budget.mongo.collection<{ expenseId: string; orderId: string | null }>('expenses');
    const booked = (): Promise<number> => expenses.countDocuments({ budgetId });
    const many = async (protocol: 'REST' | 'REST expense' | 'GraphQL', status: number): Promise<Told[]> => {
      const told: Told[] = [];
      for (let n = 0; n < each; n++) told.push(await untilAnswered(requestOf(budget, protocol, budgetId), status));
      return told;
    };
    const writing = Promise.all([many('REST', 201), many('REST expense', 201), many('GraphQL', 200)]);
    const kills = Array.from({ length: 3 }, (_, n) => randomInt(n * each, (n + 1) * each)).map((at) => Math.max(1, at));
    for (const at of kills) {
      await expect.poll(booked, { interval: 5 }).toBeGreaterThanOrEqual(at);
      const pid = budget.pidOf('expenses');
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => budget.pidOf('expenses')).not.toBe(pid);
    }
    const [, filed, mutated] = await writing;
    const all = 3 * each;
    await expect
      .poll(() => spentOf(budget, budgetId), { message: `killed at ${kills.join()}` })
      .toMatchObject({
        spentCents: 100 * all,
        transactions: all,
      });
    expect(await booked()).toBe(all);
    // Who was answered was told of the expense that is there.
    const ids = [...filed, ...mutated].map(({ text }) => /"expenseId":"([^"]+)"/.exec(text)?.[1]);
    expect(await expenses.distinct('expenseId', { budgetId, orderId: null })).toEqual(
      ids.toSorted((a = '', b = '') => (a < b ? -1 : 1)),
    );
    expect(await expenses.distinct('orderId', { budgetId, orderId: { $ne: null } })).toHaveLength(each);
    const outbox = budget.mongo.collection('outbox_events');
    const left = { 'payload.budgetId': budgetId, publishedAt: null };
    await expect.poll(() => outbox.countDocuments(left)).toBe(0);
    expect(await outbox.countDocuments({ 'payload.budgetId': budgetId })).toBe(all);
  },
);

test('the budget services: where Redis is away, MongoDB answers repetitions over REST and GraphQL, and knows them where Redis is back [S1.3]', async ({
  budget,
}) => {
  const expenses = await freePort();
  const env = { ...budget.env, EXPENSES_PORT: String(expenses), REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
  await run('../budget-services/expenses/main.ts', [], env).until(/expenses is ready/);
  const without = { ...budget, ports: { ...budget.ports, expenses } };
  const budgetId = `no redis ${randomUUID()}`;
  for (const protocol of ['REST expense', 'GraphQL'] as const) {
    const [here, there] = [requestOf(without, protocol, budgetId), requestOf(budget, protocol, budgetId)];
    const first = await here.send();
    expect(await here.send()).toEqual({ ...first, isReplay: true });
    expect(await here.sendTo(budget)).toEqual({ ...first, isReplay: true });
    const second = await there.send();
    expect(await there.sendTo(without)).toEqual({ ...second, isReplay: true });
  }
  expect(await budget.mongo.collection('expenses').countDocuments({ budgetId })).toBe(4);
  await expect.poll(() => spentOf(budget, budgetId)).toMatchObject({ spentCents: 400, transactions: 4 });
});
