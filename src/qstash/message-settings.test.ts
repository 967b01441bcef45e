import { describe, expect, it } from 'vitest';
import { headerMap } from './message-headers.ts';
import { readSettings } from './message-settings.ts';

const NOW = Date.UTC(2026, 0, 1);

function read(headers: Record<string, string>): ReturnType<typeof readSettings> {
  return readSettings(headerMap(Object.entries(headers)), { nowMs: NOW, maxDelayMs: 7 * 86_400_000 });
}

describe('the headers of a message', () => {
  it('say nothing: POST, three retries, at once [X.8]', () => {
    expect(read({ authorization: 'Bearer t', 'upstash-telemetry-sdk': 'x', host: 'h' })).toEqual({
      delivery: { method: 'POST', retries: 3, headers: {} },
    });
  });

  it('say all there is to say [X.8]', () => {
    const { delivery, ...rest } = read({
      'Content-Type': 'text/plain',
      'Upstash-Method': 'put',
      'Upstash-Forward-X-One': '1',
      'Upstash-Retries': '7',
      'Upstash-Retry-Delay': '1000 * (1 + retried)',
      'Upstash-Timeout': '1m30s',
      'Upstash-Delay': '1d10h30m',
      'Upstash-Deduplication-Id': 'd1',
      'Upstash-Callback': 'https://cb.example',
      'Upstash-Callback-Retries': '1',
      'Upstash-Callback-Forward-X': 'y',
      'Upstash-Failure-Callback': 'https://fail.example',
      'Upstash-Failure-Callback-Method': 'PUT',
      'Upstash-Flow-Control-Key': 'k',
      'Upstash-Flow-Control-Value': 'parallelism=2, rate=10, period=60s',
      'Upstash-Label': 'a, b',
      'Upstash-Redact-Fields': 'body,header[X-One],header[Authorization]',
    });
    expect(delivery).toEqual({
      method: 'PUT',
      retries: 7,
      retryDelay: '1000 * (1 + retried)',
      timeoutMs: 90_000,
      headers: { 'Content-Type': ['text/plain'], 'X-One': ['1'] },
      callback: { url: 'https://cb.example', method: 'POST', retries: 1, headers: { X: ['y'] } },
      failureCallback: { url: 'https://fail.example', method: 'PUT', retries: 7, headers: {} },
      flowKey: 'k',
      labels: ['a', 'b'],
      hidden: { body: true, headers: ['x-one', 'authorization'] },
    });
    expect(rest).toEqual({
      notBefore: new Date(NOW + 124_200_000),
      delayMs: 124_200_000,
      deduplication: { id: 'd1' },
      flow: { parallelism: 2, rate: 10, periodMs: 60_000 },
    });
  });

  it.each([
    [{ 'upstash-not-before': String(NOW / 1_000 + 60), 'upstash-delay': '5s' }, new Date(NOW + 60_000)],
    [{ 'upstash-not-before': '1' }, undefined],
    [{ 'upstash-delay': '0s' }, undefined],
    [{ 'upstash-delay': '90' }, new Date(NOW + 90_000)],
  ])('say when: %j [X.8]', (headers, expected) => {
    expect(read(headers).notBefore).toEqual(expected);
  });

  it.each([
    ['True', { content: true }],
    ['false', undefined],
  ])('ask for deduplication by content with %s [X.8]', (text, expected) => {
    expect(read({ 'upstash-content-based-deduplication': text }).deduplication).toEqual(expected);
  });

  it.each(['header', 'headers'])('hide all headers with %s [X.8]', (text) => {
    expect(read({ 'upstash-redact-fields': text }).delivery.hidden).toEqual({ headers: true });
  });

  it('forward all of a request where that is asked for, but never its token nor what the server itself says [X.8]', () => {
    const headers = {
      authorization: 'Bearer secret',
      host: 'here',
      'content-length': '3',
      'x-github-event': 'push',
      'upstash-header-forward': 'true',
      'upstash-forward-upstash-signature': 'forged',
      'upstash-forward-authorization': 'Bearer theirs',
      'upstash-forward-transfer-encoding': 'chunked',
      'upstash-forward-__proto__': 'x',
    };
    const forwarded = read(headers).delivery.headers;
    expect(Object.entries(forwarded)).toEqual([
      ['X-Github-Event', ['push']],
      ['Authorization', ['Bearer theirs']],
      ['__proto__', ['x']],
    ]);
  });

  it.each([
    ['upstash-retries', '-1', 400],
    ['upstash-retries', 'many', 400],
    ['upstash-method', 'TRACE', 400],
    ['upstash-delay', 'soon', 400],
    ['upstash-delay', '8d', 412],
    ['upstash-not-before', '1.5', 400],
    ['upstash-timeout', '0s', 400],
    ['upstash-retry-delay', 'process.exit()', 400],
    ['upstash-callback', 'example.com', 400],
    ['upstash-flow-control-value', 'speed=1', 400],
    ['upstash-redact-fields', 'everything', 400],
    ['upstash-schedule-id', 'a/b', 400],
    ['upstash-queue-name', 'a b', 400],
    ['upstash-forward-x', 'a\nb: c', 400],
    ['upstash-forward-x y', 'a', 400],
    ['upstash-deduplication-id', 'a'.repeat(1_001), 400],
  ])('are refused where %s is %s [X.8]', (name, value, status) => {
    const headers = { 'upstash-flow-control-key': 'k', [name]: value };
    expect(() => read(headers)).toThrow(expect.objectContaining({ status }));
  });

  it('are refused where a callback should wait [X.8]', () => {
    const headers = { 'upstash-callback': 'https://cb.example', 'upstash-callback-delay': '5s' };
    expect(() => read(headers)).toThrow(/Upstash-Callback-Delay is not supported/);
  });

  // By the square of its length it would take minutes.
  it('are refused at once where a time is a long row of digits [X.8]', () => {
    expect(() => read({ 'upstash-delay': `${'1'.repeat(200_000)}x` })).toThrow(
      expect.objectContaining({ status: 400 }),
    );
  });
});
