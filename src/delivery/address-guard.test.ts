import { describe, expect, test } from 'vitest';
import { AddressGuard, checkDestination } from './address-guard.ts';

const strict = new AddressGuard();

describe('addresses that are not public', () => {
  test.each([
    ['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254'],
    ['169.254.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.192', '192.0.2.1'],
    ['192.88.99.1', '192.168.1.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.9', '224.0.0.1'],
    ['239.255.255.255', '240.0.0.1', '255.255.255.255', '168.63.129.16', '100.100.100.200'],
    ['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '64:ff9b:1::1', '100::1'],
    ['2001::1', '2001:10::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254'],
    ['fe80::1', 'fec0::1', 'ff02::1', 'fe80::1%eth0', 'no address', ''],
  ])('such as %s and %s are refused [X.8]', (...addresses) => {
    expect(addresses.filter((address) => strict.checkAddress(address).kind !== 'refused')).toEqual([]);
  });

  test('are told from those that are [X.8]', () => {
    const all = [
      '1.1.1.1',
      '8.8.8.8',
      '100.63.255.255',
      '172.32.0.1',
      '168.63.129.17',
      '2606:4700::1111',
      '2a00:1450::1',
    ];
    expect(all.filter((address) => strict.checkAddress(address).kind !== 'allowed')).toEqual([]);
  });

  test('are called where their network is allowed, but where credentials are kept only by their own address [X.8]', () => {
    const guard = new AddressGuard({ allow: ['10.0.0.0/8', '169.254.0.0/16', 'fd00::/8', '192.168.7.7'] });
    const kinds = (addresses: readonly string[]): string[] => addresses.map((one) => guard.checkAddress(one).kind);
    expect(kinds(['10.9.8.7', '::ffff:10.9.8.7', '169.254.1.1', 'fd12::1', '192.168.7.7'])).toEqual(
      Array.from({ length: 5 }, () => 'allowed'),
    );
    expect(kinds(['11.0.0.1', '127.0.0.1', '192.168.7.8'])).toEqual(['allowed', 'refused', 'refused']);
    expect(kinds(['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254'])).toEqual(
      Array.from({ length: 3 }, () => 'refused'),
    );
    expect(new AddressGuard({ allow: ['169.254.169.254/32'] }).checkAddress('169.254.169.254').kind).toBe('allowed');
  });
});

describe('a destination', () => {
  test.each([
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0/',
    'http://①②⑦.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::ffff:169.254.169.254]/',
    'http://localhost/',
    'http://LOCALHOST.:8080/',
    'http://a.localhost/',
    'http://user:secret@example.com/',
    'http://user@example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'example.com/hook',
    '',
    'http://example.com:22/',
    'http://example.com:25/',
    'http://example.com:6667/',
  ])('of %s is refused before it is stored [X.8]', (url) => {
    expect(checkDestination(url, {})).toMatchObject({
      kind: 'refused',
      why: expect.stringMatching(/^invalid destination url: ./),
    });
  });

  test('that is public, or has a name, is taken as it is: names are asked when it is delivered [X.8]', () => {
    const urls = [
      'https://example.com/a?b=1',
      'http://8.8.8.8:8080/',
      'http://web/',
      'http://metadata.google.internal/',
    ];
    expect(urls.map((url) => checkDestination(url, {}).kind)).toEqual(urls.map(() => 'allowed'));
  });

  test('on this machine is taken in development, on any port [X.8]', () => {
    const rules = { loopback: true };
    const urls = ['http://localhost:81/', 'http://127.0.0.1:22/', 'http://[::1]:3000/', 'http://2130706433/'];
    expect(urls.map((url) => checkDestination(url, rules).kind)).toEqual(urls.map(() => 'allowed'));
    expect(checkDestination('http://10.0.0.1/', rules).kind).toBe('refused');
  });

  test('has to be https, and may have other ports, where the rules say so [X.8]', () => {
    expect(checkDestination('http://example.com/', { httpsOnly: true }).kind).toBe('refused');
    expect(checkDestination('https://example.com/', { httpsOnly: true }).kind).toBe('allowed');
    expect(checkDestination('https://example.com:444/', { ports: [444] }).kind).toBe('allowed');
  });
});

test.each([['10.0.0.0/33'], ['10.0.0/8'], ['fd00::/129'], ['localhost'], ['10.0.0.0/8/8'], ['::1/']])(
  'the network %j is refused when the rules are given [X.8]',
  (network) => {
    expect(() => new AddressGuard({ allow: [network] })).toThrow(/allow/);
  },
);
