import { createServer, type RequestListener, type Server } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import { GraphQLError } from 'graphql';
import { createSchema, createYoga } from 'graphql-yoga';
import type { Holdfast } from 'holdfast';
import { idempotent, runOf } from 'holdfast/graphql';
import type { Idempotency } from 'holdfast/idempotency';
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import { inServerSpans } from '../parts/http-server-span.ts';
import { ExpenseInput } from './expense-input.ts';
import { fileExpense } from './file-expense.ts';

/** What the API works with. */
export interface GraphqlApiParts {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
  readonly keys: Idempotency<PoolClient>;
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
export function graphqlApi({ hf, pool, keys, tracer, otherwise }: GraphqlApiParts): Server {
  const guard = idempotent(keys, {
    person: (request) => request.headers.get('x-user') ?? '',
    keyFormat: 'uuid-v4',
    // A mutation whose process was killed runs again: what it may have done is found by the key of its run.
    unknown: 'rerun',
  });
  const resolvers = {
    Query: {
      expenses: async (_: unknown, { budgetId }: { budgetId: string }) => {
        const { rows } = await pool.query(
          `select expense_id as "expenseId", description, amount_cents::int as "amountCents"
           from budget_expenses.expense where budget_id = $1`,
          [budgetId],
        );
        return rows as object[];
      },
    },
    Mutation: {
      addExpense: async (_: unknown, args: unknown, { request }: { request: Request }) => {
        const input = ExpenseInput.safeParse(args);
        if (!input.success) throw new GraphQLError(z.prettifyError(input.error));
        return { expenseId: await fileExpense(pool, hf, runOf(request).childKey('expense'), input.data) };
      },
      openAccount: async (_: unknown, { category, account }: { category: string; account: string }) => {
        await pool.query('insert into budget_expenses.account values ($1, $2) on conflict do nothing', [
          category,
          account,
        ]);
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
