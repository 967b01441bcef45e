import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Failure } from '../retry/failure.ts';
import { toDeliveryError } from './delivery-error.ts';

const FAILURE = { verdict: 'retry', kind: 'network' } as Failure;

/** What nobody may read afterwards: letters and digits as tokens have them, with both. */
const secret = fc
  .tuple(
    fc.stringMatching(/^[A-Za-z]{6,20}$/),
    fc.stringMatching(/^[0-9]{2,6}$/),
    fc.stringMatching(/^[A-Za-z0-9]{4,20}$/),
  )
  .map((parts) => parts.join(''));
const word = fc.stringMatching(/^[a-z]{2,8}$/);
const quote = fc.constantFrom('', '"', "'");

/** How secrets get into the texts of errors. */
const sayings: readonly ((secret: string, word: string, quote: string) => string)[] = [
  (s, w) => `connect to postgres://${w}:${s}@db.internal:5432/${w} failed`,
  (s, w) => `redis://:${s}@cache:6379 refused ${w}`,
  (s, w) => `amqps://${w}:${s}@mq.example/${w}?heartbeat=5: ECONNRESET`,
  (s, w) => `mongodb+srv://${w}:${s}@cluster0.example.net/?retryWrites=true`,
  (s, w) => `GET https://api.example/${w}?api_key=${s}&page=2 answered 401`,
  (s, w) => `request to https://${s}@github.com/${w}/${w}.git failed`,
  (s) => `401 with Authorization: Bearer ${s}`,
  (s) => `401 with Authorization: Basic ${s}==`,
  (s, w) => `curl -H "Authorization: Bearer ${s}" https://${w}.example`,
  (s, w, q) => `{"user":"${w}","password":"${s}","n":1} ${q}`,
  (s, _, q) => `password=${q}${s}${q} is wrong`,
  (s, w) => `host=db user=${w} password=${s} dbname=${w}`,
  (s, w) => `Server=db;User Id=${w};Password=${s};Encrypt=true`,
  (s, _, q) => `env SECRET_KEY=${q}${s}${q} rejected`,
  (s, _, q) => `x-api-key: ${q}${s}${q}`,
  (s) => `Cookie: session=${s}; theme=dark`,
  (s) => `invalid token: ${s}`,
  (s) => `the access token ${s} has expired`,
  (s, w) => JSON.stringify({ config: { headers: { authorization: `Bearer ${s}` }, url: `/${w}` } }),
  (s, w) => JSON.stringify({ [w]: JSON.stringify({ clientSecret: s }) }),
  (s, w) => `postgres://${w}:${s}@/p#w?d@db.internal/${w}`,
  (s, w) => `GET /${w} HTTP/1.1\r\nHost: ${w}\r\nauthorization: bearer ${s}\r\n\r\n`,
  (s, w) => `{'user': '${w}', 'password': '${s}'}`,
  (s, w) => `['host', '${w}', 'authorization', 'Bearer ${s}']`,
  (s, w) => `user: ${w}\npassword: ${s}\nport: 1`,
  (s, w) => `https://${w}.blob.example/x?sv=1&sig=${s}%3D&se=2`,
  (s, w) => `https://${w}.s3.example/k?X-Amz-Credential=a&X-Amz-Signature=${s}`,
  (s, w) => `org.apache.kafka…PlainLoginModule required username="${w}" password="${s}";`,
  (s, w) => `Set-Cookie: sid=${s}; Path=/${w}; HttpOnly`,
  (s, w) => `jdbc:postgresql://db/${w}?user=${w}&password=${s}`,
  (s) => `https://hooks.example/?token=${s}`,
  (s, w) => `npm_config_//registry.example/:_authToken=${s} ${w}`,
];

const saying = fc
  .tuple(fc.constantFrom(...sayings), secret, word, quote)
  .map(([say, hidden, around, sign]) => ({ hidden, text: say(hidden, around, sign) }));

/** Errors as they are thrown: alone, with causes behind them, as one of several, as something else. */
const thrownWith: readonly ((text: string) => unknown)[] = [
  (text) => new Error(text),
  (text) => text,
  (text) => ({ message: text, code: 'E' }),
  (text) => new Error('outer', { cause: new TypeError(text) }),
  (text) => new Error('outer', { cause: new Error('middle', { cause: new Error(text) }) }),
  (text) => new AggregateError([new Error(text), new Error(text)], 'all failed'),
  (text) => Object.assign(new Error('outer'), { cause: text }),
  (text) => Object.assign(new Error(text), { name: 'QueryError', stack: `Error: ${text}\n    at query (${text}:1:1)` }),
];

describe('what is kept of an error', () => {
  test('holds no secret, whichever text it stands in and however deep the error is [X.17]', () => {
    fc.assert(
      fc.property(saying, fc.constantFrom(...thrownWith), ({ hidden, text }, wrap) => {
        const kept = JSON.stringify(toDeliveryError(wrap(text), FAILURE));
        expect(kept, text).not.toContain(hidden);
      }),
      { numRuns: 1_000 },
    );
  });

  test('holds no part of a secret that stands where the text is cut [X.17]', () => {
    fc.assert(
      fc.property(saying, fc.nat(1_200), ({ hidden, text }, before) => {
        const { message } = toDeliveryError(new Error(`${'lorem '.repeat(before / 6)}${text}`), FAILURE);
        for (let size = 8; size <= hidden.length; size += 1) expect(message).not.toContain(hidden.slice(0, size));
      }),
      { numRuns: 200 },
    );
  });
});
