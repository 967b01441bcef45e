import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import { idempotent } from '../../src/apollo/index.ts';
import type { Idempotency } from '../../src/idempotency/index.ts';
import type { Order } from '../idempotency-http/steps.ts';

/** Who asks, as the header says. */
export async function contextOf({ req }: { req: express.Request }): Promise<{ person: string }> {
  return { person: req.get('x-person') ?? 'ada' };
}

interface AppOptions {
  /** Called with who asks before the guard begins. */
  readonly auth?: (person: string) => Promise<void>;
  readonly maxReplyBytes?: number;
}

/** Apollo Server on Express, with one mutation that takes an order. */
export async function apolloApp(
  typeDefs: string,
  idem: Idempotency<never>,
  place: (asked: Order) => Promise<string | null>,
  { auth, maxReplyBytes }: AppOptions = {},
): Promise<express.Express> {
  const server = new ApolloServer<{ person: string }>({
    typeDefs,
    resolvers: { Mutation: { place: (_: unknown, asked: Order) => place(asked) } },
    plugins: [idempotent(idem, { person: ({ contextValue }) => contextValue.person, maxReplyBytes })],
  });
  await server.start();
  const context = async (asked: { req: express.Request }): Promise<{ person: string }> => {
    const found = await contextOf(asked);
    await auth?.(found.person);
    return found;
  };
  return express().use('/graphql', express.json(), expressMiddleware(server, { context }));
}
