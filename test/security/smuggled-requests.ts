/** One way to hide a second request in what one side of a proxy takes for one request. */
export interface Smuggled {
  readonly way: string;
  /** The bytes to send, with the hidden request in them. */
  readonly bytes: (hidden: string) => string;
}

const POST = 'POST /healthz HTTP/1.1\r\nHost: localhost\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';

/** The length covers the hidden request; who goes by `headers` ends the body before it. */
function byLength(way: string, headers: string, before = '0\r\n\r\n', start = POST): Smuggled {
  return {
    way,
    bytes: (hidden) => `${start}Content-Length: ${before.length + hidden.length}\r\n${headers}\r\n${before}${hidden}`,
  };
}

/** A chunked body whose chunks are read in two ways. */
function inChunks(way: string, body: (hidden: string) => string, headers = CHUNKED): Smuggled {
  return { way, bytes: (hidden) => `${POST}${headers}\r\n${body(hidden)}` };
}

const ENCODINGS = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding:chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding\t: chunked',
  ' Transfer-Encoding: chunked',
  'X: y\r\n Transfer-Encoding: chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: chunked\u000b',
  'Transfer-Encoding: \u000bchunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: ',
  'Transfer-Encoding: x\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding\u0000: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'X: y\r\r\nTransfer-Encoding: chunked',
];

const LENGTHS = ['0', '+0', '-0', '0x0', '00', '0, 0', '0,', ' 0', '0 0', '0\t', '1e0', '0.0', '', '\u000b0', '"0"'];

const CHUNK_SIZES = [
  '-1',
  '+0',
  '0x0',
  ' 0',
  '0 ',
  '0\t',
  '',
  'g',
  '0_0',
  'ffffffffffffffff',
  '10000000000000000',
  '100000000000000000000',
];

/** All ways that are tried. */
export const SMUGGLED: readonly Smuggled[] = [
  ...ENCODINGS.map((header) => byLength(`length and ${JSON.stringify(header)}`, `${header}\r\n`)),
  ...LENGTHS.map((length) =>
    byLength(`two lengths, the second ${JSON.stringify(length)}`, `Content-Length: ${length}\r\n`, ''),
  ),
  ...[
    'Content-Length : 0',
    'Content-Length\t: 0',
    ' Content-Length: 0',
    'Content_Length: 0',
    'X: y\nContent-Length: 0',
  ].map((header) => byLength(`a length and ${JSON.stringify(header)}`, `${header}\r\n`, '')),
  ...CHUNK_SIZES.map((size) =>
    inChunks(`a chunk of ${JSON.stringify(size)} bytes`, (hidden) => `${size}\r\n\r\n${hidden}`),
  ),
  inChunks('chunk lines that end with LF alone', (hidden) => `0\n\n${hidden}`),
  inChunks('a chunk line that ends with CR alone', (hidden) => `0\r\r${hidden}`),
  inChunks('a last chunk without its empty line', (hidden) => `0\r\nX${hidden}`),
  inChunks('an LF in an extension', (hidden) => `1;a=\n\r\nx\r\n0\r\n\r\n${hidden}`),
  inChunks('an LF in a quoted extension', (hidden) => `1;a="\n0\r\n\r\n${hidden}`),
  inChunks('an extension as long as it likes', (hidden) => `1;${'a'.repeat(40_000)}\r\nx\r\n0\r\n\r\n${hidden}`),
  inChunks('a chunk that is longer than it says', (hidden) => `1\r\nxx0\r\n\r\n${hidden}`),
  inChunks('a chunk that ends with other bytes', (hidden) => `1\r\nxAB0\r\n\r\n${hidden}`),
  inChunks('the hidden request in a chunk', (hidden) => `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`),
  inChunks('the hidden request in a trailer', (hidden) => `0\r\nX: ${hidden}\r\n\r\n`.replaceAll('\r\n\r\n', '\r\n')),
  byLength('a body that no route reads', ''),
  byLength('a body of GET', '', '', POST.replace('POST', 'GET')),
  byLength('a body of HEAD', '', '', POST.replace('POST', 'HEAD')),
  byLength('a body of OPTIONS', '', '', POST.replace('POST', 'OPTIONS')),
  byLength('a body of TRACE', '', '', POST.replace('POST', 'TRACE')),
  byLength('a body of nobody who may write', '', '', POST.replace('/healthz', '/api/pause-all')),
  byLength('a body of nobody who may publish', '', '', POST.replace('/healthz', '/v2/publish/https://example.com')),
  byLength('a body that is expected to be waited for', 'Expect: 100-continue\r\n', ''),
  byLength('an expectation that nobody knows', 'Expect: 200-ok\r\n', ''),
  byLength('a body larger than is read', '', 'A'.repeat(9_000_000)),
  byLength('an upgrade', 'Connection: Upgrade\r\nUpgrade: websocket\r\n', ''),
  byLength('an upgrade to HTTP/2', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n', ''),
  byLength('a length in HTTP/1.0', 'Connection: keep-alive\r\n', '', POST.replace('1.1', '1.0')),
  {
    way: 'chunks in HTTP/1.0',
    bytes: (hidden) => `${POST.replace('1.1', '1.0')}Connection: keep-alive\r\n${CHUNKED}\r\n0\r\n\r\n${hidden}`,
  },
  { way: 'CONNECT', bytes: (hidden) => `CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n${hidden}` },
  { way: 'the preface of HTTP/2', bytes: (hidden) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden}` },
  { way: 'HTTP/0.9', bytes: (hidden) => `GET /healthz\r\n${hidden}` },
  { way: 'HTTP/2.0 as text', bytes: (hidden) => `${POST.replace('1.1', '2.0')}\r\n${hidden}` },
  { way: 'a header without a name', bytes: (hidden) => `${POST}: x\r\n\r\n${hidden}` },
  { way: 'a header without a colon', bytes: (hidden) => `${POST}X y\r\n\r\n${hidden}` },
  { way: 'NUL in a header', bytes: (hidden) => `${POST}X: a\u0000b\r\n\r\n${hidden}` },
  { way: 'CR in a header', bytes: (hidden) => `${POST}X: a\rb\r\n\r\n${hidden}` },
  { way: 'a space in a name', bytes: (hidden) => `${POST}X y: a\r\n\r\n${hidden}` },
  { way: 'an LF in the request line', bytes: (hidden) => `GET /a\nb HTTP/1.1\r\nHost: localhost\r\n\r\n${hidden}` },
  { way: 'NUL in the request line', bytes: (hidden) => `GET /a\u0000b HTTP/1.1\r\nHost: localhost\r\n\r\n${hidden}` },
];
