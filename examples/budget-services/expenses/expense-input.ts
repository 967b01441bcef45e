import { z } from 'zod';
import { Cents, Name } from '../events.ts';

/** What a client sends to file an expense, over REST and over GraphQL. */
export const ExpenseInput = z.object({ budgetId: Name, category: Name, description: Name, amountCents: Cents });
