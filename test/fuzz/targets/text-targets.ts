import { isDeepStrictEqual } from 'node:util';
import { createHmac } from 'node:crypto';
import { signQstash } from '../../../src/delivery/sign-qstash.ts';
import { signStandard } from '../../../src/delivery/sign-standard.ts';
import { canonicalJson } from '../../../src/idempotency/canonical-json.ts';
import { requestFingerprint } from '../../../src/idempotency/http/request-fingerprint.ts';
import { isHoldfastError } from '../../../src/kernel/error.ts';
import { hideSecrets } from '../../../src/kernel/hide-secrets.ts';
import { errorFingerprint } from '../../../src/relay/error-fingerprint.ts';
import { RedactionRules } from '../../../src/server/redaction.ts';
import { parseEventLines, serializeEventLine } from '../../../src/stream/event-lines.ts';
import { sseEvents } from '../../../src/stream/sse-events.ts';
import { qstash } from '../../../src/webhooks/qstash-scheme.ts';
import { standardWebhooks } from '../../../src/webhooks/standard-scheme.ts';
import { type FuzzTarget, headersOf, jsonOf, wrong } from '../target.ts';

const NOW = Date.UTC(2026, 10, 16, 10);
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const KEY = 'sig_current';
const BODY = '{"a":1}';
const asLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

/** The same bytes in pieces of these lengths, over and over. */
async function* pieces(bytes: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

async function collected(source: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  try {
    for await (const one of source) found.push(one);
  } catch (error) {
    if (!isHoldfastError(error) || !/^(?:STREAM|EVENT)_/.test(error.code)) throw error;
    found.push(error.code);
  }
  return found;
}

/** Whatever its pieces, it is read the same. */
async function sameInPieces(
  text: string,
  read: (source: AsyncIterable<Uint8Array>) => AsyncIterable<unknown>,
): Promise<unknown[]> {
  const bytes = Buffer.from(text, 'latin1');
  const whole = await collected(read(pieces(bytes, [bytes.length || 1])));
  for (const lengths of [[1], [3, 1, 7]])
    if (!isDeepStrictEqual(await collected(read(pieces(bytes, lengths))), whole)) wrong('cut elsewhere it is another');
  return whole;
}

/** Signatures, streams, and texts that are hidden, compared or grouped. */
export const TEXT_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'standard-webhook',
    seeds: [`${asLines(signStandard({ secrets: [SECRET], messageId: 'msg_1', nowMs: NOW, body: BODY }))}\n\n${BODY}`],
    words: ['webhook-id: ', 'webhook-timestamp: ', 'webhook-signature: ', 'v1,', 'v1a,', ' ', '\n', '=='],
    check: async (text) => {
      const headers = headersOf(text);
      const body = Buffer.from(text.slice(text.indexOf('\n\n') + 2));
      if (!headers) return;
      const verdict = await standardWebhooks({ secrets: [SECRET] }).verify(headers, body, NOW);
      if (verdict.kind === 'refused') return;
      const [id, at] = [headers.get('webhook-id') ?? '', headers.get('webhook-timestamp') ?? ''];
      const signature = createHmac('sha256', Buffer.alloc(32, 7)).update(`${id}.${at}.`).update(body).digest('base64');
      if (!headers.get('webhook-signature')?.includes(signature.replace(/=+$/, '')))
        wrong('it verifies what nobody signed');
    },
  },
  {
    name: 'qstash-signature',
    seeds: [
      `upstash-signature: ${signQstash({ key: KEY, url: 'https://a.b', body: BODY, nowMs: NOW, tokenId: 't' })}\nupstash-message-id: m\nupstash-retried: 1\n\n${BODY}`,
    ],
    words: ['upstash-signature: ', 'upstash-message-id: ', '.', 'eyJ', '\n', '='],
    check: async (text) => {
      const headers = headersOf(text);
      const body = Buffer.from(text.slice(text.indexOf('\n\n') + 2));
      if (!headers) return;
      const verdict = await qstash({ currentKey: KEY, nextKey: 'sig_next', url: 'https://a.b' }).verify(
        headers,
        body,
        NOW,
      );
      if (verdict.kind !== 'verified') return;
      const [head, claims] = (headers.get('upstash-signature') ?? '').split('.');
      const signed = createHmac('sha256', KEY).update(`${head}.${claims}`).digest('base64url');
      if (!headers.get('upstash-signature')?.endsWith(signed) || body.toString() !== BODY)
        wrong('it verifies what nobody signed');
      if (!(verdict.verified.attempt >= 1)) wrong(`attempt ${verdict.verified.attempt}`);
    },
  },
  {
    name: 'server-sent-events',
    seeds: [
      'data: a\n\n',
      'event: x\r\ndata: {"a":1}\r\nid: 1\r\n\r\n: ping\r\n',
      '\u00ef\u00bb\u00bfdata\ndata:\n\n',
      'retry: 1\rdata: \u00e4\r\r',
      '{"error":1}',
    ],
    words: ['data: ', 'event: ', 'id: ', '\n', '\r', '\r\n', ':', '\n\n', '\u00c3'],
    check: (text) => sameInPieces(text, (source) => sseEvents(source, { maxEventChars: 200 })),
  },
  {
    name: 'event-lines',
    seeds: ['{"a":1}\n{"b":2}\n', '{"a":1}\r\n\r\n[1]', '{"a"', '1\r2\r'],
    words: ['{', '}', '"a"', ':', '\n', '\r', '[', ']', '\u00c3'],
    check: async (text) => {
      const found = await sameInPieces(text, (source) => parseEventLines(source, { maxEventChars: 200 }));
      const objects = found.filter((one): one is object => typeof one === 'object' && one !== null);
      const lines = objects.map((one) => serializeEventLine(one));
      // As JSON has it: a number that is too large for it is null.
      const expected = lines.map((line) => JSON.parse(line) as unknown);
      const written = await collected(parseEventLines(pieces(Buffer.from(lines.join('')), [5])));
      if (!isDeepStrictEqual(written, expected)) wrong('written it is another');
    },
  },
  {
    name: 'canonical-json',
    seeds: ['{"b":1,"a":[1.50,"\\u00e9"]}', '{"password":"x","a":null}', '[[[[]]]]', '{"toJSON":1}', '1e400'],
    words: ['{', '}', '[', ']', '"', ':', ',', '"__proto__":', '\\u0000', '1e5', 'null'],
    check: (text) => {
      const value = jsonOf(text);
      if (value === undefined) return;
      const canonical = canonicalJson(value);
      if (canonical === undefined) return;
      if (canonicalJson(JSON.parse(canonical)) !== canonical) wrong('its own text is another');
      const facts = { method: 'POST', path: '/a', query: `?${text}`, header: () => [] };
      const [print, again] = [1, 2].map(() => requestFingerprint(facts, { kind: 'parsed', value }, []));
      if (print !== again || (print ?? '').length > 100) wrong('the fingerprint is another');
    },
  },
  {
    name: 'redaction',
    seeds: [
      'card.number\n{"card":{"number":"4242"},"a":[1]}',
      'items.*.iban\n{"items":[{"iban":"DE1"},{"iban":2}]}',
      '*\n{"a":"[redacted]"}',
      '__proto__\n{"__proto__":{"a":1}}',
      'headers.x\n{"headers":{"x":1}}',
    ],
    words: [
      '.',
      '*',
      '\n',
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '"a"',
      '0',
      'headers',
      '"[redacted]"',
      '"__proto__"',
      '"constructor"',
    ],
    check: (text) => {
      const [path = '', ...rest] = text.split('\n');
      const value = jsonOf(rest.join('\n'));
      if (value === undefined || path === '') return;
      const rules = new RedactionRules([path]);
      const shown = rules.payload(value);
      if (!isDeepStrictEqual(rules.payload(shown), shown)) wrong('hidden twice it is another');
      try {
        if (!isDeepStrictEqual(rules.restore(shown, value), value)) wrong('what was left alone is not restored');
      } catch (error) {
        if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error;
      }
      const made = { constructor: '[redacted]', ...(typeof shown === 'object' && !Array.isArray(shown) ? shown : {}) };
      try {
        const kept = rules.restore(made, value);
        if (typeof (kept as { constructor: unknown }).constructor === 'function')
          wrong('a built-in came into the payload');
      } catch (error) {
        if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error;
      }
      rules.covers(path.split('.'));
      rules.headers({ x: '1', __proto__: null } as unknown as Record<string, string>);
    },
  },
  {
    name: 'hidden-secrets',
    seeds: [
      'password=hunter2secret',
      'postgres://u:p@h/db?x=1',
      'Authorization: Bearer eyJhbGciOi.eyJ9.x',
      '{"token":"a\\"b"}',
      "apiKey: 'x' => [1, {secret: 2}]",
      'AKIAIOSFODNN7EXAMPLE',
    ],
    words: [
      'password',
      'token=',
      'secret:',
      '"',
      "'",
      '\\"',
      '=>',
      '{',
      '}',
      '[',
      '//',
      '@',
      '?',
      'Bearer ',
      '-----BEGIN PRIVATE KEY-----',
    ],
    check: (text) => {
      const shown = hideSecrets(text);
      if (shown.length > 9 * text.length + 8) wrong(`${text.length} characters became ${shown.length}`);
      if (hideSecrets(`${text}\npassword=Zq7hunter2secret9`).includes('Zq7hunter2secret9'))
        wrong('a password is shown');
    },
  },
  {
    name: 'error-fingerprint',
    seeds: [
      'TypeError: x is 12\n    at charge (/app/src/charge.ts:1:2)\n    at node:internal/x:1:1',
      'Error: order 0198c0de-0000-7000-8000-00000000000a is gone',
      'f@http://h/a.js:1:2',
    ],
    words: ['\n    at ', '(', ')', ':1:2', '/app/', 'node:', '12', ' ', '@'],
    check: (text) => {
      const [message = ''] = text.split('\n');
      const { text: print, frames } = errorFingerprint({
        name: message.slice(0, 20),
        message,
        kind: 'unknown',
        stack: text,
      });
      if (frames.length > 5 || print.length > 3_000) wrong('it is too long');
      if (
        !print.isWellFormed() ||
        errorFingerprint({ name: message.slice(0, 20), message, kind: 'unknown', stack: text }).text !== print
      )
        wrong('it cannot be kept');
    },
  },
];
