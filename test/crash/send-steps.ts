import { holdfast, outgoing } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Client } from 'pg';
import { SCHEMA, stepTaken, type Step } from './crash-events.ts';

/** Sends all steps in one transaction, from the test itself. */
export async function sendSteps(url: string, steps: readonly Step[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const hf = holdfast({ service: 'crash', store: postgres({ schema: SCHEMA }) });
  try {
    await client.query('begin');
    for (const { key, n } of steps) await client.query('insert into sent (key, n) values ($1, $2)', [key, n]);
    await hf.sendAll(
      client,
      steps.map((step) => outgoing(stepTaken, step)),
    );
    await client.query('commit');
  } finally {
    await client.end();
  }
}
