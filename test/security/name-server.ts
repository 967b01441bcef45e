import { Resolver } from 'node:dns';
import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Resolve, ResolvedAddress } from '../../src/delivery/resolve.ts';

/** What a name stands for: once for each question of a resolver, the last one from then on. */
export type Zone = Readonly<Record<string, readonly (readonly string[])[]>>;

/** A name server on UDP whose answers may not be kept (TTL 0), and the resolution of names that asks nobody else. */
export interface NameServer {
  readonly resolve: Resolve;
  /** The names that were asked for, once for each resolution. */
  readonly asked: readonly string[];
}

const A = 1;

/** Answers until the test ends. A name that is not in the zone and holds an IPv4 address stands for it, as those of nip.io do. */
export async function nameServer(zone: Zone): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, question } = read(query);
    // Both families are asked for at once, A first: one resolution, and one turn of the zone.
    if (type === A) asked.push(name);
    const turns = zone[name] ?? [embedded(name)];
    const turn = Math.max(1, asked.filter((one) => one === name).length) - 1;
    const addresses = turns[Math.min(turn, turns.length - 1)] ?? [];
    const records = addresses.filter((one) => isIPv4(one) === (type === A)).map((one) => record(type, one));
    socket.send(response(query, question, records), port, address);
  });
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  onTestFinished(() => void socket.close());
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  onTestFinished(() => resolver.cancel());
  return { asked, resolve: (host, answer) => ask(resolver, host, answer) };
}

function ask(resolver: Resolver, host: string, answer: Parameters<Resolve>[1]): void {
  resolver.resolve4(host, (error4, four) => {
    resolver.resolve6(host, (error6, six) => {
      const found: ResolvedAddress[] = [
        ...(error4 ? [] : four).map((address) => ({ address, family: 4 })),
        ...(error6 ? [] : six).map((address) => ({ address, family: 6 })),
      ];
      answer(found.length > 0 ? null : (error4 ?? error6), found);
    });
  });
}

function embedded(name: string): string[] {
  const found = /(?:^|[.-])(\d{1,3}([.-])\d{1,3}\2\d{1,3}\2\d{1,3})\./.exec(name)?.[1];
  return found === undefined ? [] : [found.replaceAll('-', '.')];
}

/** The first question of a query: its name, its type and its bytes. */
function read(query: Buffer): { readonly name: string; readonly type: number; readonly question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(at + 1),
    question: query.subarray(12, at + 5),
  };
}

function response(query: Buffer, question: Buffer, records: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  // An authoritative response without an error, to one question.
  head.writeUInt16BE(0x84_00, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  return Buffer.concat([head, question, ...records]);
}

function record(type: number, address: string): Buffer {
  const bytes = type === A ? Buffer.from(address.split('.').map(Number)) : bytesOfV6(address);
  const head = Buffer.alloc(12);
  // The name is that of the question; class IN; TTL 0.
  head.writeUInt16BE(0xc0_0c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

/** The URL parser writes IPv4 at the end as groups; what `::` leaves out is zero. */
function bytesOfV6(address: string): Buffer {
  const [front = '', back] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const [before = [], after = []] = [front, back ?? ''].map((text) => text.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const all = [...before, ...zeros, ...after].map((group) => group.padStart(4, '0'));
  return Buffer.from(all.join(''), 'hex');
}
