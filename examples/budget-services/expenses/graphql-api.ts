import { createServer, type RequestListener, type Server } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import { GraphQLError } from 'graphql';
import { createSchema, createYoga } from 'graphql-yoga';
import { idempotent, runOf } from 'holdfast/graphql';
import type { Idempotency } from 'holdfast/idempotency';
import type { ClientSession } from 'mongodb';
import { z } from 'zod';
import { inServerSpans } from '../parts/http-server-span.ts';
import { openAccount } from './expense-collections.ts';
import { ExpenseInput } from './expense-input.ts';
import type { ExpenseService } from './expense-service.ts';
import { fileExpense } from './file-expense.ts';

/** What the API works with. */
export interface GraphqlApiParts {
  readonly service: ExpenseService;
  readonly keys: Idempotency<ClientSession>;
  readonly tracer: Tracer;
  /** Answers what is not `/graphql`. */
  readonly otherwise: RequestListener;
}

const TYPES = `
  type Query { expenses(budgetId: String!): [Expense!]! }
  type Mutation {
    addExpense(budgetId: String!, category: String!, description: String!, amountCents: Int!): Added!
    openAccount(category: String!, account: String!): String!
  }
  type Added { expenseId: ID! }
  type Expense { expenseId: ID! description: String! amountCents: Int! }
`;

/** `/graphql`, each mutation once for each `Idempotency-Key`. */
export function graphqlApi({ service, keys, tracer, otherwise }: GraphqlApiParts): Server {
  const guard = idempotent(keys, {
    person: (request) => request.headers.get('x-user') ?? '',
    keyFormat: 'uuid-v4',
    // A mutation whose process was killed runs again: what it may have done is found by the key of its run.
    unknown: 'rerun',
  });
  const resolvers = {
    Query: {
      expenses: (_: unknown, { budgetId }: { budgetId: string }) =>
        service.collections.expenses.find({ budgetId }).toArray(),
    },
    Mutation: {
      addExpense: async (_: unknown, args: unknown, { request }: { request: Request }) => {
        const input = ExpenseInput.safeParse(args);
        if (!input.success) throw new GraphQLError(z.prettifyError(input.error));
        return { expenseId: await fileExpense(service, runOf(request).childKey('expense'), input.data) };
      },
      openAccount: async (_: unknown, { category, account }: { category: string; account: string }) => {
        await openAccount(service.collections.accounts, category, account);
        return account;
      },
    },
  };
  const yoga = createYoga({ schema: createSchema({ typeDefs: TYPES, resolvers }), plugins: [guard], logging: false });
  const answer: RequestListener = (request, response) => {
    if (request.url?.split('?')[0] === yoga.graphqlEndpoint) void yoga(request, response);
    else otherwise(request, response);
  };
  return createServer(inServerSpans(tracer, answer));
}
