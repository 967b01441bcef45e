import { BlockList, isIP } from 'node:net';
import { OptionCheck } from '../kernel/check-options.ts';
import { isOwnListener, type OwnListener } from './own-listener.ts';

/** Which destinations are allowed besides public ones. Every field may be left out. */
export interface AddressRules {
  /** Networks that may be called although they are private: `['10.0.0.0/8', 'fd12::/16']`. Default: none. */
  readonly allow?: readonly string[] | undefined;
  /** This machine itself may be called: for development. Default false. */
  readonly loopback?: boolean | undefined;
  /** Ports besides 80, 443 and those from 1024 on. Default: none. Of networks that are allowed above: all of them. */
  readonly ports?: readonly number[] | undefined;
  /** Only https. Default false. */
  readonly httpsOnly?: boolean | undefined;
  /**
   * Where this server itself listens at the moment: never called, whatever is allowed above and whatever name or form leads there. A delivery
   * to oneself would come from this machine, and be trusted. Default: nothing.
   */
  readonly own?: (() => readonly OwnListener[]) | undefined;
}

/** Whether something may be called. `why` is for people, with the next step. */
export type AddressVerdict = { readonly kind: 'allowed' } | Refused;

interface Refused {
  readonly kind: 'refused';
  readonly why: string;
}

// What no public service has an address in: RFC 6890 and what came after it.
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
// All others are public only within 2000::/3, and not in these: Teredo and other protocols, documentation, 6to4.
const PUBLIC_V6 = '2000::/3';
const PRIVATE_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
// Where clouds keep the credentials of a machine or a container. Allowed only where the address itself is listed, not by a network around it.
const METADATA_V4 = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
];
const METADATA = [
  ...METADATA_V4,
  // What a NAT64 gateway, or an old stack, turns into the address above. BlockList itself knows `::ffff:`.
  ...METADATA_V4.flatMap((address) => [`64:ff9b::${address}`, `::${address}`]),
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:42::42',
  'fd00:c1::a9fe:a9fe',
  'fe80::a9fe:a9fe',
];
const LOOPBACK = ['127.0.0.0/8', '::1/128'];
// Services of which a browser says the same (fetch, "bad port"), from 1024 on.
const BAD_PORTS: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

const NEXT = 'allow its network in the settings of the server if it is meant to be called';

/** Decides which addresses may be called: where a message is published, and again on each connection that is made. Pure. */
export class AddressGuard {
  readonly #private = listOf([...PRIVATE_V4, ...PRIVATE_V6]);
  readonly #publicV6 = listOf([PUBLIC_V6]);
  readonly #metadata = listOf(METADATA.map(alone));
  readonly #allowed: BlockList;
  readonly #allowedAlone: BlockList;
  readonly #ports: ReadonlySet<number>;
  readonly #rules: AddressRules;

  /** Throws `INVALID_OPTIONS` where a network or a port is not one. */
  constructor(rules: AddressRules = {}) {
    const { allow = [], loopback = false, ports = [] } = checked(rules);
    this.#rules = rules;
    this.#allowed = listOf([...allow, ...(loopback ? LOOPBACK : [])].map(alone));
    this.#allowedAlone = listOf(allow.map(alone).filter((network) => /\/(?:32|128)$/.test(network)));
    this.#ports = new Set([80, 443, ...ports]);
  }

  /** An address that a name was resolved to, or that a socket is connected to. */
  checkAddress(address: string): AddressVerdict {
    const family = isIP(address);
    if (family === 0) return { kind: 'refused', why: `${shown(address)} is not an address` };
    if (this.#isAllowed(address)) return { kind: 'allowed' };
    const kind = family === 4 ? 'ipv4' : 'ipv6';
    const isPublic = !this.#private.check(address, kind) && (family === 4 || this.#publicV6.check(address, kind));
    if (isPublic && !this.#metadata.check(address, kind)) return { kind: 'allowed' };
    return { kind: 'refused', why: `the address ${shown(address)} is not a public one; ${NEXT}` };
  }

  /** An address with its port, before a socket is connected and once more when it is. */
  checkPeer(address: string, port: number): AddressVerdict {
    const verdict = this.checkAddress(address);
    if (verdict.kind === 'refused' || !this.#isOwn(address, port)) return verdict;
    return ownRefused(address, port);
  }

  /** An address on the web, without asking what its name resolves to. */
  checkUrl(text: string): { readonly kind: 'allowed'; readonly url: URL } | Refused {
    const url = URL.parse(text);
    if (!url) return refused('it is not an absolute address; write one such as https://example.com/hook');
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return refused('endpoint has invalid scheme, add http:// or https://');
    if (this.#rules.httpsOnly === true && url.protocol !== 'https:') return refused('only https:// is allowed here');
    if (url.username !== '' || url.password !== '')
      return refused('it holds a user name or password; send them in a header');
    const host = hostOf(url);
    const verdict = isIP(host) === 0 ? this.#checkName(host) : this.checkAddress(host);
    if (verdict.kind === 'refused') return verdict;
    const port = this.checkPort(portOf(url), host);
    if (port.kind === 'refused') return port;
    const addresses = isOwnName(host) ? ['127.0.0.1', '::1'] : isIP(host) === 0 ? [] : [host];
    if (!addresses.some((address) => this.#isOwn(address, portOf(url)))) return { kind: 'allowed', url };
    return ownRefused(host, portOf(url));
  }

  /** A port of an address; of a name, as long as it is not resolved. */
  checkPort(port: number, host: string): AddressVerdict {
    const isUsual = this.#ports.has(port) || (port >= 1024 && !BAD_PORTS.has(port));
    const address = isOwnName(host) ? '127.0.0.1' : host;
    if (isUsual || (isIP(address) !== 0 && this.#isAllowed(address))) return { kind: 'allowed' };
    return refused(`port ${port} is not one that deliveries go to; allow it in the settings of the server`);
  }

  #isOwn(address: string, port: number): boolean {
    return (this.#rules.own?.() ?? []).some((listener) => isOwnListener(listener, address, port));
  }

  #checkName(host: string): AddressVerdict {
    if (!isResolvable(host))
      return refused(`${shown(host)} is no name of a host; write one of at most 253 characters, without empty parts`);
    if (isOwnName(host) && !this.#isAllowed('127.0.0.1') && !this.#isAllowed('::1'))
      return refused(`${shown(host)} is the server itself; ${NEXT}`);
    return { kind: 'allowed' };
  }

  /** An IPv4 address that is written as IPv6 (`::ffff:10.0.0.1`) is allowed where the IPv4 address is. */
  #isAllowed(address: string): boolean {
    const kind = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (this.#metadata.check(address, kind)) return this.#allowedAlone.check(address, kind);
    return this.#allowed.check(address, kind);
  }
}

const guards = new WeakMap<AddressRules, AddressGuard>();

/** Whether something may be published to this address: the same verdict as when it is delivered, as far as it is known without DNS. */
export function checkDestination(url: string, rules: AddressRules): AddressVerdict {
  const guard = guards.get(rules) ?? new AddressGuard(rules);
  guards.set(rules, guard);
  const verdict = guard.checkUrl(url);
  return verdict.kind === 'refused' ? refused(`invalid destination url: ${verdict.why}`) : { kind: 'allowed' };
}

/** The host without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

export function portOf({ protocol, port }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** Names that mean the machine itself, whatever its resolver says (RFC 6761). */
function isOwnName(host: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(host);
}

/** DNS has no longer name, and none with empty parts (RFC 1035): a stored one could only fail, and is in keys and logs until then. */
function isResolvable(host: string): boolean {
  const name = host.replace(/\.$/, '');
  return name.length <= 253 && name.split('.').every((label) => label !== '' && label.length <= 63);
}

function ownRefused(host: string, port: number): Refused {
  return refused(
    `${shown(host)} port ${port} is this server itself, which is never called; choose another destination`,
  );
}

function refused(why: string): Refused {
  return { kind: 'refused', why };
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** An address by itself is a network of one. */
function alone(network: string): string {
  return network.includes('/') ? network : `${network}/${isIP(network) === 4 ? 32 : 128}`;
}

function shown(address: string): string {
  return address.slice(0, 60);
}

function checked(rules: AddressRules): AddressRules {
  const check = new OptionCheck('address rules');
  if (check.object('rules', rules, "pass { allow: ['10.0.0.0/8'] }, or leave it out")) {
    check.known(rules, ['allow', 'loopback', 'ports', 'httpsOnly', 'own']);
    if (rules.own !== undefined && typeof rules.own !== 'function')
      check.refuse('own', rules.own, 'pass a function that gives { address, port } of each listener');
    for (const network of rules.allow ?? []) {
      if (!isNetwork(network))
        check.refuseName('allow', network, "write an address or a network, such as '10.0.0.0/8'");
    }
    for (const port of rules.ports ?? [])
      check.number('ports', port, { min: 1, max: 65_535, integer: true, write: 'write a port from 1 to 65535' });
  }
  check.done();
  return rules;
}

function isNetwork(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const [address = '', bits = '0', ...more] = text.split('/');
  const most = [undefined, undefined, undefined, undefined, 32, undefined, 128][isIP(address)];
  return most !== undefined && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}
