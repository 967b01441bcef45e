import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** A socket that this process listens on, as `server.address()` has it. */
export interface OwnListener {
  readonly address: string;
  readonly port: number;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * True when a connection to this address and port ends at the listener. IPv4 written as IPv6 is the IPv4 address; `0.0.0.0` and `::` as a
 * destination are this machine. A listener on all addresses has each of this machine.
 */
export function isOwnListener(listener: OwnListener, address: string, port: number): boolean {
  if (listener.port !== port) return false;
  const [host = ''] = address.split('%', 1);
  if (isIP(host) === 0) return false;
  if (isUnspecified(host)) return true;
  if (!isUnspecified(listener.address)) return isSame(listener.address, host);
  if (LOOPBACK.check(host, kindOf(host))) return true;
  const here = Object.values(networkInterfaces()).flatMap((some = []) => some);
  return here.some((one) => isSame(one.address, host));
}

function isSame(one: string, other: string): boolean {
  const list = new BlockList();
  const [plain = ''] = one.split('%', 1);
  list.addAddress(plain, kindOf(plain));
  return list.check(other, kindOf(other));
}

const UNSPECIFIED = new BlockList();
UNSPECIFIED.addAddress('0.0.0.0', 'ipv4');
UNSPECIFIED.addAddress('::', 'ipv6');

function isUnspecified(address: string): boolean {
  return UNSPECIFIED.check(address, kindOf(address));
}

function kindOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
