import { z } from 'zod';
import { Cents, Name } from '../events.ts';

/** What a client sends to record a transaction, over REST and over gRPC. */
export const TransactionInput = z.object({ budgetId: Name, description: Name, amountCents: Cents });
