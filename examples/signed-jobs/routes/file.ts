import { TerminalHandlerError } from 'holdfast';
import { type ReceiveRequest } from 'holdfast/webhooks';
import { z } from 'zod';
import { receive } from '../receive.ts';

const Upload = z.object({ fileId: z.string().min(1), type: z.string(), text: z.string() });

/** As `app/api/jobs/file/route.ts` would have it. A file that nobody can read goes to the dead letters at once. */
export const POST: ReceiveRequest = receive<z.infer<typeof Upload>>(
  {
    name: 'index-file',
    schema: Upload,
    businessKey: ({ fileId }) => fileId,
    lockTtlSeconds: 600,
    maxBodyBytes: 65_536,
  },
  async ({ fileId, type, text }, run) => {
    if (type !== 'text/plain') throw new TerminalHandlerError(`files of type ${type} cannot be read`);
    const words = text.split(/\s+/).filter((word) => word !== '').length;
    await run.commit((tx) => tx.query('insert into jobs_app.indexed_file values ($1, $2)', [fileId, words]));
  },
);
