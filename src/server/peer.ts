import type { RequestFacts } from './server-options.ts';

// No other address of 127.0.0.0/8: meshes send what they forward from one of these.
const LOOPBACK = /^(?:127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/i;
const LOCAL_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
// What proxies add: the peer is then the proxy, and says nothing about who asks.
const FORWARDED =
  /^(?:forwarded|via|cdn-loop|true-client-ip|client-ip|x-client-ip|x-cluster-client-ip|x-real-ip|x-real-port|x-scheme|x-url-scheme|front-end-https|(?:x-forwarded|x-original|x-envoy|x-amzn|x-appengine|x-arr|x-b3|cf|fastly|fly)-.+)$/;

/** True for an address of this machine. */
function isLoopback(address: string | undefined): boolean {
  return address !== undefined && LOOPBACK.test(address);
}

/** True for `localhost`, `127.0.0.1` and `[::1]`, with any port: a page of another name that resolves to this machine has another. */
export function isLocalHost(host: string | null): boolean {
  return host !== null && LOCAL_HOST.test(host);
}

function isForwarded(headers: Headers): boolean {
  for (const name of headers.keys()) if (FORWARDED.test(name)) return true;
  return false;
}

/**
 * True for a request that came from this machine itself and was meant for it: to a name of this machine with the port that listens, and in
 * a newer version than HTTP/1.0, which is what nginx asks with unless it is told otherwise. A proxy can be set up so that it differs in
 * nothing from a program of this machine.
 */
export function isLocal(headers: Headers, { peer, port, httpVersion }: RequestFacts): boolean {
  const host = headers.get('host');
  const isMeant = isLocalHost(host) && (port === undefined || namesPort(host, port));
  return isLoopback(peer) && isMeant && !isForwarded(headers) && !OLD_VERSION.test(httpVersion ?? '');
}

/** A name without a port means the usual one, of http or https. */
function namesPort(host: string | null, port: number): boolean {
  const named = /:(\d{1,5})$/.exec(host ?? '')?.[1];
  return named === undefined ? port === 80 || port === 443 : Number(named) === port;
}

const OLD_VERSION = /^(?:0\.|1\.0$)/;
