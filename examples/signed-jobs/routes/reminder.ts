import { type ReceiveRequest } from 'holdfast/webhooks';
import { z } from 'zod';
import { sendMail } from '../mail-provider.ts';
import { receive } from '../receive.ts';

const Reminder = z.object({ reminderId: z.string().min(1), to: z.string().min(3) });

/** As `app/api/jobs/reminder/route.ts` would have it. The mail is not in our database, so it is sent under a key of its own. */
export const POST: ReceiveRequest = receive<z.infer<typeof Reminder>>(
  { name: 'send-reminder', schema: Reminder, businessKey: ({ reminderId }) => reminderId },
  async ({ reminderId, to }, run) => {
    // The same key in every attempt: should we die after it, the provider sends nothing twice.
    await sendMail(to, run.childKey('mail'), run.attempt);
    await run.commit((tx) =>
      tx.query('insert into jobs_app.sent_reminder values ($1, $2, $3)', [reminderId, to, run.attempt]),
    );
  },
);
