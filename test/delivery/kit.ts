import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { DELIVERY_SERVICE, DELIVERY_TYPE, type DeliveryRequest, lineOf } from '../../src/delivery/delivery-request.ts';
import type { RunningRelay } from '../../src/relay/relay.ts';
import { type DeliveryOptions, startDeliveries } from '../../src/delivery/delivery-server.ts';
import { event, holdfast, type RelayEvent } from '../../src/index.ts';
import { memoryStore, type MemoryStore, type MemoryTransaction } from '../../src/testing/index.ts';
import { MemorySender } from './memory-sender.ts';

/** A request as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Sink {
  readonly url: string;
  readonly server: Server;
  readonly arrived: Arrived[];
}

/** A destination that notes what arrives and answers as it is told; 200 by default. */
export async function sink(
  answer: (response: ServerResponse, request: Arrived) => unknown = (response) => response.end('ok'),
): Promise<Sink> {
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, headers, body: Buffer.concat(chunks) };
      arrived.push(one);
      answer(response, one);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, arrived };
}

const delivery = event<DeliveryRequest>(DELIVERY_TYPE, { key: lineOf });

export interface DeliveryKit {
  readonly store: MemoryStore;
  readonly sender: MemorySender;
  readonly events: RelayEvent[];
  readonly running: RunningRelay;
  publish(request: Partial<DeliveryRequest> & { readonly url: string }): Promise<string>;
  /** Another process on the same store. */
  another(options?: Partial<DeliveryOptions<MemoryTransaction>>): Promise<RunningRelay>;
}

/** Deliveries over a store in memory, to destinations on this machine. Stopped when the test ends. */
export async function deliveries(options: Partial<DeliveryOptions<MemoryTransaction>> = {}): Promise<DeliveryKit> {
  const store = memoryStore();
  const sender = new MemorySender();
  const events: RelayEvent[] = [];
  const another: DeliveryKit['another'] = async (more = {}) => {
    const running = await startDeliveries({
      store,
      sender,
      addresses: { loopback: true },
      observers: [(told) => void events.push(told)],
      pollMs: 20,
      leaseMs: 2_000,
      ...options,
      ...more,
    });
    onTestFinished(() => running.stop({ drainMs: 0 }));
    return running;
  };
  const hf = holdfast<MemoryTransaction>({ service: DELIVERY_SERVICE, store });
  return {
    store,
    sender,
    events,
    running: await another(),
    another,
    publish: async (request) => {
      const tx = store.begin();
      const whole = { method: 'POST', headers: {}, retries: 3, signedBy: 'server', ...request } as const;
      const sent = await hf.send(tx, delivery, whole);
      tx.commit();
      return sent.id;
    },
  };
}
