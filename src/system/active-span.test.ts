import { expect, test } from 'vitest';
import { traceparentOf } from './active-span.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const span = (context: {
  traceId: string;
  spanId: string;
  traceFlags: number;
}): Parameters<typeof traceparentOf>[0] => ({
  addEvent: () => undefined,
  spanContext: () => context,
});

test('a traceparent has its flags as two hexadecimal digits', () => {
  expect(traceparentOf(span({ traceId, spanId, traceFlags: 1 }))).toBe(`00-${traceId}-${spanId}-01`);
  expect(traceparentOf(span({ traceId, spanId, traceFlags: 0x2b }))).toBe(`00-${traceId}-${spanId}-2b`);
});

test('a span without a usable context has none', () => {
  expect(traceparentOf({ addEvent: () => undefined })).toBeUndefined();
  expect(traceparentOf(span({ traceId: 'short', spanId, traceFlags: 1 }))).toBeUndefined();
  expect(traceparentOf(span({ traceId, spanId: 'Z'.repeat(16), traceFlags: 1 }))).toBeUndefined();
  expect(traceparentOf(span({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }))).toBeUndefined();
});
