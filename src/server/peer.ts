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

/** True for a request that came from this machine itself and was meant for it. */
export function isLocal(headers: Headers, peer: string | undefined): boolean {
  return isLoopback(peer) && isLocalHost(headers.get('host')) && !isForwarded(headers);
}
