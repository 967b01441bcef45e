import * as grpc from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import type { Placed } from '../idempotency-http/orders.ts';
import { SERVICE } from './orders-service.ts';

/** What came of an order, in the words of all protocols: the text of a reply, or why there is none. */
export interface Told {
  readonly text: string | undefined;
  readonly isReplay: boolean;
  /** The name of a problem; `cut` when the server has gone. */
  readonly problem: string | undefined;
  /** Of HTTP, or of gRPC. */
  readonly status: number | undefined;
}

type Urls = Readonly<Record<string, string>>;

/** Sends an order by the protocol that is its route. */
export function place(urls: Urls, placed: Placed): Promise<Told> {
  return placed.route === 'grpc' ? placeByGrpc(urls, placed) : placeByGraphql(urls[placed.route] ?? '', placed);
}

async function placeByGraphql(url: string, { order, stopAt, key }: Placed): Promise<Told> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, 'x-person': stopAt },
      body: JSON.stringify({ query: `mutation { place(order: "${order}", stopAt: "${stopAt}") }` }),
    });
    const { status, headers } = response;
    const body = (await response.json()) as {
      type?: string;
      data?: { place: string };
      errors?: { extensions?: { type?: string } }[];
    };
    const type = body.type ?? body.errors?.[0]?.extensions?.type;
    const isReplay = headers.get('idempotent-replayed') === 'true';
    return { text: body.data?.place, isReplay, problem: type?.split(':').at(-1), status };
  } catch {
    return { text: undefined, isReplay: false, problem: 'cut', status: undefined };
  }
}

async function placeByGrpc(urls: Urls, { order, stopAt, key }: Placed): Promise<Told> {
  const Client = grpc.makeGenericClientConstructor(SERVICE, 'Orders');
  const client = new Client(urls['grpc'] ?? '', grpc.credentials.createInsecure());
  onTestFinished(() => client.close());
  const metadata = new grpc.Metadata();
  metadata.set('person', stopAt);
  metadata.set('idempotency-key', key);
  return new Promise((resolve) => {
    let isReplay = false;
    const send = client['place'] as unknown as (
      request: object,
      metadata: grpc.Metadata,
      done: (error: grpc.ServiceError | null, reply?: { text: string }) => void,
    ) => grpc.ClientUnaryCall;
    const sent = send.call(client, { order, stopAt }, metadata, (error, reply) => {
      const problem = error && String(error.metadata.get('idempotency-problem')[0] ?? 'cut');
      resolve({ text: reply?.text, isReplay, problem: problem ?? undefined, status: error?.code ?? grpc.status.OK });
    });
    sent.on('metadata', (got) => (isReplay = got.get('idempotent-replayed')[0] === 'true'));
  });
}
