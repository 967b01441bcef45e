const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|::ffff:127(?:\.\d{1,3}){3})$/i;
const LOCAL_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
// What proxies add: the peer is then the proxy, and says nothing about who asks.
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via', 'cf-connecting-ip'];

/** True for an address of this machine. */
function isLoopback(address: string | undefined): boolean {
  return address !== undefined && LOOPBACK.test(address);
}

/** True for `localhost`, `127.0.0.1` and `[::1]`, with any port: a page of another name that resolves to this machine has another. */
export function isLocalHost(host: string | null): boolean {
  return host !== null && LOCAL_HOST.test(host);
}

/** True for a request that came from this machine itself and was meant for it. */
export function isLocal(headers: Headers, peer: string | undefined): boolean {
  return isLoopback(peer) && isLocalHost(headers.get('host')) && !FORWARDED.some((name) => headers.has(name));
}
