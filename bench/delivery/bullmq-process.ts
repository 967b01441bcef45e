// node bullmq-process.ts <redis url> <queue> <concurrency>
//
// What one writes with BullMQ: a worker that calls `fetch` and throws when the answer is no success. Tells when it works.
import { Worker } from 'bullmq';
import type { Job } from './contestant.ts';

const [, , url = '', queue = '', concurrency = ''] = process.argv;
const { hostname, port } = new URL(url);
const worker = new Worker<Job>(
  queue,
  async ({ data, id = '', attemptsMade }) => {
    const headers = { 'content-type': 'application/json', 'message-id': id, retried: String(attemptsMade) };
    const signal = AbortSignal.timeout(120_000);
    const response = await fetch(data.url, { method: 'POST', headers, body: data.body, redirect: 'manual', signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`the destination answered ${response.status}: ${text}`);
  },
  { connection: { host: hostname, port: Number(port) }, concurrency: Number(concurrency) },
);
worker.on('error', (error) => console.error(error));
await worker.waitUntilReady();

process.on('disconnect', () => process.exit());
process.on('message', () => process.send?.(process.cpuUsage()));
process.send?.('ready');
