import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { AddressGuard, checkDestination, hostOf } from '../../../src/delivery/address-guard.ts';
import { parseAnswer } from '../../../src/http/parse-answer.ts';
import { redirectStep } from '../../../src/http/redirect.ts';
import { targetUrl } from '../../../src/http/target-url.ts';
import { isForeignPage } from '../../../src/server/foreign-page.ts';
import { isPlainTarget } from '../../../src/server/node-listener.ts';
import { addPayload, takePayload } from '../../../src/server/payload-query.ts';
import { isLocal } from '../../../src/server/peer.ts';
import { githubWebhooks } from '../../../src/webhooks/github-scheme.ts';
import { slackEvents } from '../../../src/webhooks/slack-scheme.ts';
import { stripeWebhooks } from '../../../src/webhooks/stripe-scheme.ts';
import type { SignatureScheme } from '../../../src/webhooks/verdict.ts';
import { type FuzzTarget, headersOf, wrong } from '../target.ts';

const NOW = Date.UTC(2026, 10, 16, 10);
const SENT = String(NOW / 1_000);
const SECRET = 'a secret of the sender';
const BODY = '{"id":"evt_1","event_id":"Ev1"}';
const strict = new AddressGuard();

function signed(text: string): string {
  return createHmac('sha256', SECRET).update(text).digest('hex');
}

/** A scheme whose signature stands in one header, over a text that is made of a time and the body. */
function webhook(
  name: string,
  scheme: SignatureScheme,
  [header, written]: readonly [header: string, written: string],
  over: (time: string, body: string) => string,
): FuzzTarget {
  return {
    name,
    seeds: [`${written}\n\n${BODY}`],
    words: [`${header}: `, 'v0=', 'v1=', 't=', 'sha256=', ',', '=', '\n', signed('x'), SENT, '{"id":"', '"event_id":'],
    check: async (text) => {
      const headers = headersOf(text);
      if (!headers) return;
      const body = text.slice(text.indexOf('\n\n') + 2);
      const verdict = await scheme.verify(headers, Buffer.from(body, 'latin1'), NOW);
      if (verdict.kind === 'refused') return;
      const time = headers.get('x-slack-request-timestamp') ?? /(?:^|,)t=(\d+)/.exec(headers.get(header) ?? '')?.[1];
      const bytes = Buffer.from(over(time ?? '', body), 'latin1');
      if (!headers.get(header)?.includes(createHmac('sha256', SECRET).update(bytes).digest('hex')))
        wrong('it verifies what nobody signed');
      if (verdict.kind === 'verified' && !(verdict.verified.attempt >= 1 && verdict.verified.messageId !== ''))
        wrong('it has no id, or no attempt');
    },
  };
}

/** Where strangers come in: webhooks, URLs, request targets, and what a browser says about a page. */
export const DOOR_TARGETS: readonly FuzzTarget[] = [
  webhook(
    'stripe-webhook',
    stripeWebhooks({ secrets: [SECRET] }),
    ['stripe-signature', `stripe-signature: t=${SENT},v1=${signed(`${SENT}.${BODY}`)}`],
    (time, body) => `${time}.${body}`,
  ),
  webhook(
    'slack-event',
    slackEvents({ secrets: [SECRET] }),
    [
      'x-slack-signature',
      `x-slack-request-timestamp: ${SENT}\nx-slack-signature: v0=${signed(`v0:${SENT}:${BODY}`)}\nx-slack-retry-num: 1`,
    ],
    (time, body) => `v0:${time}:${body}`,
  ),
  webhook(
    'github-webhook',
    githubWebhooks({ secrets: [SECRET] }),
    ['x-hub-signature-256', `x-hub-signature-256: sha256=${signed(BODY)}\nx-github-delivery: d`],
    (_time, body) => body,
  ),
  {
    name: 'destination-url',
    seeds: [
      'https://example.com/a?b=c',
      'http://2130706433:8080/',
      'http://[::ffff:127.0.0.1]/',
      'http://0x7f.1/',
      'http://a@127.0.0.1/',
      'http://169.254.169.254.:80/',
      'http://ⓛocalhost/',
    ],
    words: [
      'http://',
      '127.0.0.1',
      '0x7f',
      '[::',
      ']',
      ':',
      '@',
      '%2e',
      '.',
      '\\',
      '\t',
      'localhost',
      '。',
      '①',
      '#',
      '::ffff:',
    ],
    check: (text) => {
      if (checkDestination(text, {}).kind === 'refused') return;
      const url = new URL(text);
      const host = hostOf(url);
      if (!/^https?:$/.test(url.protocol)) wrong(`it calls ${url.protocol}`);
      if (url.username + url.password !== '') wrong('it holds a password');
      if (/(?:^|\.)localhost\.?$/.test(host)) wrong('it is this machine');
      if (/^[\d.]+$|:/.test(host) && strict.checkAddress(host).kind === 'refused') wrong(`${host} is not public`);
      if (host.length > 254) wrong('it is too long for a name');
    },
  },
  {
    name: 'request-target',
    seeds: [
      '/api/messages?a=b',
      '/x/../api',
      '//host/api',
      '/%2e%2E/api',
      String.raw`/a\b`,
      'http://h/api',
      '/a#b',
      '/.../..a',
    ],
    words: ['/', '..', '.', '%2e', '%2E', '\\', '?', '#', 'http://', '%2f', '\t', ';'],
    check: (text) => {
      // What a request line cannot hold never arrives.
      const target = text.replaceAll(/[^\x21-\x7e]/g, '');
      if (!isPlainTarget({ url: target, rawHeaders: [], readableEnded: true, socket: {} })) return;
      const [path = ''] = target.split('?', 1);
      const { pathname, host } = new URL(target, 'http://localhost');
      if (host !== 'localhost') wrong(`it goes to ${host}`);
      if (pathname.split('/').length !== path.split('/').length) wrong('it is another path');
      if (decoded(pathname) !== decoded(path)) wrong('it is another path');
    },
  },
  {
    name: 'client-target',
    seeds: ['/users/1', '/a/%2e%2e/b', '//h/x', '/documents:commit', 'a\\b', '/%252e%252e/'],
    words: ['/', '..', '%2e', '%25', '\\', ':', '//', '?', '#', '\t', '@'],
    check: (text) => {
      const base = 'https://service.example/base';
      const found = targetUrl(base, text, { q: text });
      if ('problem' in found) return;
      if (found.url.origin + found.url.pathname !== base && !found.url.href.startsWith(`${base}/`)) wrong('it left');
      if (found.url.searchParams.get('q') !== text.toWellFormed()) wrong('the query is another');
    },
  },
  {
    name: 'redirect-location',
    seeds: ['/next', 'https://service.example/next', '//other.example/', 'https://user@service.example/', '\\\\other'],
    words: ['/', '//', '\\', 'https://', 'service.example', '@', ':', '.', '\t', '#', '?'],
    check: (text) => {
      const from = new URL('https://service.example/base');
      const about = { rule: 'same-origin', from, method: 'POST', followed: 0, bodyIsKept: true } as const;
      for (const status of [301, 303, 307]) {
        const step = redirectStep({ ...about, status, location: text });
        if (step.kind === 'refuse') continue;
        if (step.url.origin !== from.origin || step.url.username !== '') wrong(`it is followed to ${step.url.href}`);
        if (status === 301) wrong('a write became a read');
      }
    },
  },
  {
    name: 'response-body',
    seeds: ['application/json\n{"a":1}', 'text/html\n<p>', '\n', 'application/problem+json; charset=utf-8\n[1]'],
    words: ['application/', 'json', '+json', ';', 'charset=', '\n', '{', '}', '"', '\u00ff', '\u00c3', 'null'],
    check: async (text) => {
      const [type = '', ...rest] = text.split('\n');
      const bytes = Buffer.from(rest.join('\n'), 'latin1');
      for (const read of ['json', 'text', 'nothing'] as const) {
        const found = await parseAnswer({ bytes, contentType: type }, read, undefined);
        if ('problem' in found && found.problem.length > 300) wrong('a problem is that long');
      }
    },
  },
  {
    name: 'payload-query',
    seeds: ['payload.customer.id=42&limit=1', 'payload.a%5C.b="x"', 'payload.=1', 'payload.a=1e999&payload.b=null'],
    words: ['payload.', '&', '=', '.', '%5C', '"', 'null', '[1]', '-0', '__proto__'],
    check: (text) => {
      const { payload = [], problems, rest } = takePayload(new URLSearchParams(text));
      if ([...rest.keys()].some((name) => name.startsWith('payload.'))) wrong('a place is left');
      if (problems.length > 0) return;
      const again = new URLSearchParams();
      addPayload(again, payload);
      const read = takePayload(again).payload ?? [];
      if (!isDeepStrictEqual(JSON.stringify(read), JSON.stringify(payload))) wrong('written it is another');
    },
  },
  {
    name: 'page-of-browser',
    seeds: [
      'host: localhost:4747\norigin: http://localhost:4747',
      'host: 127.0.0.1\nsec-fetch-site: cross-site',
      'host: [::1]:1\nx-forwarded-for: 1.1.1.1',
      'host: localhost.example.com\norigin: null',
    ],
    words: [
      'host: ',
      'origin: ',
      'sec-fetch-site: ',
      'forwarded: ',
      '\n',
      'localhost',
      '127.0.0.1',
      ':',
      '@',
      ', ',
      '.',
      'http://',
    ],
    check: (text) => {
      const headers = headersOf(text);
      if (!headers) return;
      const origin = headers.get('origin');
      if (!isForeignPage(headers) && origin !== null && URL.parse(origin)?.host !== headers.get('host'))
        wrong('a foreign page is let in');
      if (!isLocal(headers, { peer: '127.0.0.1', port: 4747, httpVersion: '1.1' })) return;
      const { hostname } = URL.parse(`http://${headers.get('host') ?? ''}/`) ?? { hostname: '127.0.0.1' };
      if (!/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) wrong(`${hostname} is taken for this machine`);
      if (headers.has('x-forwarded-for') || headers.has('forwarded')) wrong('a proxy is taken for this machine');
    },
  },
];

/** A parser of URLs may write an escape in place of a character: that names the same. */
function decoded(path: string): string {
  return path.replaceAll(/%([\da-f]{2})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}
