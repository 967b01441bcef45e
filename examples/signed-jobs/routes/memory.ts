import { type ReceiveRequest } from 'holdfast/webhooks';
import { z } from 'zod';
import { receive } from '../receive.ts';

const Turn = z.object({ conversationId: z.string().min(1), messages: z.array(z.string()) });

/** As `app/api/jobs/memory/route.ts` would have it. Without a business key each message counts, and each counts once. */
export const POST: ReceiveRequest = receive<z.infer<typeof Turn>>(
  { name: 'sync-memory', schema: Turn },
  async ({ conversationId, messages }, run) => {
    await run.commit(async (tx) => {
      for (const text of messages)
        await tx.query('insert into jobs_app.memory values ($1, $2)', [conversationId, text]);
    });
  },
);
