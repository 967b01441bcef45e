// node ledger-client.ts <name> <count> <url> …: places that many orders, each with a key of its own, and sends each again, to any of
// the servers, until it was answered with 201; every fiftieth once more after that. Prints how many answers were replays and how many
// tries there were.
import { randomUUID } from 'node:crypto';

const [, , name, count, ...urls] = process.argv;
const AT_ONCE = 24;
const MOST_TRIES = 400;
let next = 0;
let tries = 0;
let replays = 0;

async function place(order: string, key: string): Promise<void> {
  for (let attempt = 0; attempt < MOST_TRIES; attempt++) {
    tries++;
    try {
      const response = await fetch(`${urls[Math.floor(Math.random() * urls.length)]}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ order }),
        signal: AbortSignal.timeout(10_000),
      });
      await response.arrayBuffer();
      if (response.headers.get('idempotent-replayed') === 'true') replays++;
      if (response.status === 201) return;
    } catch {
      // Cut off, or nobody there for the moment.
    }
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80));
  }
  throw new Error(`${order} was not placed`);
}

async function customer(): Promise<void> {
  while (next < Number(count)) {
    const [n, key] = [next++, randomUUID()];
    await place(`${name}-${n}`, key);
    if (n % 50 === 7) await place(`${name}-${n}`, key);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, customer));
console.log(JSON.stringify({ tries, replays }));
