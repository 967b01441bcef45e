import { ROUTES } from '../../../src/qstash/all-routes.ts';
import { rawDestination, readDestination } from '../../../src/qstash/destination.ts';
import { matchPath } from '../../../src/qstash/match-path.ts';
import { headerMap } from '../../../src/qstash/message-headers.ts';
import { readSettings } from '../../../src/qstash/message-settings.ts';
import { Refusal } from '../../../src/qstash/refusal.ts';
import { targetBelow } from '../../../src/qstash/request-target.ts';
import { readDeadSelection, readPage, readSelection, readStates } from '../../../src/qstash/selection-query.ts';
import { type FuzzTarget, linesOf, unlessRefused, wrong } from '../target.ts';

const NOW = Date.UTC(2026, 10, 16, 10);
const TEN_YEARS = 3_650 * 86_400_000;
const isRefusal = (error: unknown): boolean =>
  error instanceof Refusal && [400, 412].includes(error.status) && error.message.length < 20_000;

/** What clients of QStash send. */
export const QSTASH_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'qstash-settings',
    seeds: [
      'upstash-delay: 1d10h30m\nupstash-retries: 3\nupstash-method: PATCH',
      'upstash-flow-control-key: k\nupstash-flow-control-value: parallelism=2, rate=10, period=60s',
      'upstash-callback: https://example.com/cb\nupstash-callback-retries: 2\nupstash-failure-callback-forward-x: y',
      'upstash-redact-fields: body,header[Authorization]\nupstash-label: a,b\nupstash-forward-x-y: z',
      'upstash-not-before: 1794823200\nupstash-cron: */5 * * * *\nupstash-retry-delay: 1000 * retried\nupstash-timeout: 30s',
      'upstash-deduplication-id: a\nupstash-content-based-deduplication: true\nupstash-header-forward: true\ncookie: a',
    ],
    words: [
      'upstash-',
      'upstash-delay: ',
      'upstash-forward-',
      'upstash-callback',
      '\n',
      ': ',
      '1s',
      'ms',
      'rate=',
      'header[',
      ']',
      'body',
      ',',
      '=',
      'true',
    ],
    check: (text) => {
      const headers = headerMap(linesOf(text));
      const settings = unlessRefused(() => readSettings(headers, { nowMs: NOW, maxDelayMs: TEN_YEARS }), isRefusal);
      if (!settings) return;
      const { notBefore, delayMs = 0, delivery } = settings;
      if (notBefore !== undefined && Number.isNaN(notBefore.getTime())) wrong('not before is no time');
      if (!(delayMs >= 0 && delayMs <= TEN_YEARS)) wrong(`the delay is ${delayMs}`);
      for (const [name, values] of Object.entries(delivery.headers))
        if (/[\r\n]/.test(name + values.join(''))) wrong('a header holds a line break');
      // One header of the request, and one that it makes for the destination: none is lost or made up.
      if (Object.getPrototypeOf(delivery.headers) !== Object.prototype) wrong('headers are no plain object');
    },
  },
  {
    name: 'qstash-destination',
    seeds: [
      'https://example.com/a?b=c',
      'my-group',
      'http://h/../x#f',
      'https:/one.slash',
      'api/llm',
      'https://h/?qstash_token=t&upstash-delay=1s&a=b',
    ],
    words: ['https://', 'http:/', '/', '?', '#', '@', '%20', ' ', '&', 'qstash_token=', 'upstash-delay=1s', '..'],
    check: (text) => {
      const target = targetBelow('', `/v2/publish/${text}`);
      if (target === undefined) return;
      for (const isTokenInQuery of [true, false]) {
        const raw = rawDestination(target.path.slice('publish/'.length), target.query, isTokenInQuery);
        const read = unlessRefused(() => readDestination(raw.text), isRefusal);
        if (!isTokenInQuery && raw.settings.size > 0) wrong('the address sets something');
        if (read?.kind === 'url' && !/^https?:\/\/[^\s#]+$/i.test(read.url)) wrong(`it calls ${read.url}`);
      }
    },
  },
  {
    name: 'qstash-path',
    seeds: [
      'publish/https://example.com/a',
      'queues/q',
      'schedules/a%20b',
      'dlq/x',
      'messages/../queues',
      'topics/t/endpoints',
    ],
    words: ['/', 'publish/', 'queues/', 'schedules/', '..', '%00', '%2F', '%'],
    check: (text) => {
      for (const { params } of matchPath(ROUTES, text)) {
        if (Object.values(params).some((value) => value === '' || value.includes('\u0000')))
          wrong('a parameter is empty');
      }
    },
  },
  {
    name: 'qstash-selection',
    seeds: [
      'messageIds=a,b&label=x',
      'url=https://a&url=https://b&flowControlKey=k',
      'fromDate=1794823200000&toDate=1',
      'state=IN_PROGRESS&count=5&cursor=c',
      'responseStatus=500',
    ],
    words: [
      '&',
      '=',
      'url=',
      'queueName=',
      'scheduleId=',
      'label=',
      'state=',
      'fromDate=',
      'messageIds=',
      ',',
      'urlGroup=',
    ],
    check: (text) => {
      const query = new URLSearchParams(text);
      const { url = [], from, to } = unlessRefused(() => readSelection(query), isRefusal) ?? {};
      if (url.length > 100) wrong(`${url.length} values of one filter`);
      for (const time of [from, to]) if (time !== undefined && Number.isNaN(time.getTime())) wrong('a time is none');
      unlessRefused(() => readDeadSelection(query), isRefusal);
      unlessRefused(() => readStates(query), isRefusal);
      const page = unlessRefused(() => readPage(query, 1_000), isRefusal);
      if (page && !(page.limit >= 1 && page.limit <= 1_000)) wrong(`a page of ${page.limit}`);
    },
  },
];
