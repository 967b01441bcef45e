import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dead, delivery, DLQ_ID, done, failed, house, started } from '../../test/telemetry/made-events.ts';
import { HOUSE_UNIT } from '../relay/relay-store.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { relayMetrics, type RelayMetrics } from './relay-metrics.ts';

/** Also halves of surrogate pairs and control characters; fast-check's own list of such takes a second to build. */
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

/** The value of one line, by its name and labels. */
function valueOf({ text }: RelayMetrics, series: string): number | undefined {
  const line = text()
    .split('\n')
    .find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

const LABELS = '{handler="charge",type="order.placed"}';

describe('metrics', () => {
  test('count runs under the agreed names [S1.10]', () => {
    const metrics = relayMetrics({ effects: virtualTime() });
    for (const event of [started(), done(), started(), failed(), started(), dead()]) metrics.observe(event);
    metrics.observe({ kind: 'run-refused', handler: 'charge', delivery: delivery(), reason: 'lease-lost' });
    metrics.observe({ kind: 'run-refused', handler: 'charge', delivery: delivery(), reason: 'row-changed' });
    metrics.observe({ kind: 'parked', handler: 'charge', delivery: delivery(), dlqId: DLQ_ID });
    const shown = (name: string, labels: string): number | undefined => valueOf(metrics, `${name}{${labels}}`);
    const about = 'handler="charge",type="order.placed"';
    expect(shown('outbox_published_total', 'type="order.placed"')).toBe(1);
    for (const outcome of ['done', 'retry', 'dead']) {
      expect(shown('consumer_processed_total', `${about},outcome="${outcome}"`)).toBe(1);
    }
    expect(shown('consumer_dedup_hits_total', about)).toBe(2);
    expect(shown('dlq_messages_total', about)).toBe(2);
    expect(shown('holdfast_parked_total', about)).toBe(1);
    expect(shown('holdfast_attempts_total', about)).toBe(3);
    expect(shown('holdfast_retries_total', `${about},kind="network"`)).toBe(1);
    expect(shown('holdfast_results_refused_total', 'handler="charge",reason="lease-lost"')).toBe(1);
    expect(shown('holdfast_results_refused_total', 'handler="charge",reason="row-changed"')).toBe(1);
  });

  test('are there with 0 from the first run on, so that the first dead letter is an increase', () => {
    const metrics = relayMetrics();
    metrics.observe(started());
    for (const name of ['dlq_messages_total', 'consumer_dedup_hits_total']) {
      expect(valueOf(metrics, `${name}${LABELS}`)).toBe(0);
    }
    expect(valueOf(metrics, 'holdfast_units_orphaned_total')).toBe(0);
  });

  test('of a broker are there with 0 from the start on, so that the first message that comes twice is an increase [S1.10]', () => {
    const metrics = relayMetrics();
    metrics.observe({ kind: 'started', handlers: [{ handler: 'from-kafka', types: ['holdfast.unreadable'] }] });
    const shown = (): unknown[] => [
      valueOf(metrics, 'consumer_dedup_hits_total{handler="from-kafka",type=""}'),
      valueOf(metrics, 'holdfast_received_total{transport="kafka",outcome="duplicate"}'),
    ];
    expect(shown()).toEqual([0, 0]);
    metrics.observe({ kind: 'received', transport: 'kafka', stored: 0, duplicates: 1, ignored: 0 });
    expect(shown()).toEqual([1, 1]);
  });

  test('show where each breaker stands from its start on, and count openings in the process that counted the failures [X.10]', () => {
    const metrics = relayMetrics();
    const tell = (state: 'closed' | 'open' | 'probing', cause: 'start' | 'failures' | 'probe' | 'elsewhere'): void =>
      metrics.observe({ kind: 'breaker', breaker: 'stripe', handlers: [], waiting: 0, failingMs: 0, state, cause });
    const shown = (): unknown[] =>
      ['holdfast_breaker_state', 'holdfast_breaker_opened_total'].map((name) =>
        valueOf(metrics, `${name}{breaker="stripe"}`),
      );
    tell('closed', 'start');
    expect(shown()).toEqual([0, 0]);
    tell('open', 'failures');
    expect(shown()).toEqual([2, 1]);
    tell('probing', 'elsewhere');
    expect(shown()).toEqual([1, 1]);
    tell('open', 'elsewhere');
    tell('closed', 'elsewhere');
    expect(shown()).toEqual([0, 1]);
  });

  test('have durations in seconds, in buckets that add up', async () => {
    const time = virtualTime();
    const metrics = relayMetrics({ effects: time });
    await time.advance(3_000);
    metrics.observe(done());
    metrics.observe({ ...done(), durationMs: 400_000 } as never);
    const run = (suffix: string, more = ''): number | undefined =>
      valueOf(metrics, `holdfast_run_duration_seconds${suffix}{handler="charge",outcome="done"${more}}`);
    expect(run('_bucket', ',le="0.01"')).toBe(0);
    expect(run('_bucket', ',le="0.025"')).toBe(1);
    expect(run('_bucket', ',le="300"')).toBe(1);
    expect(run('_bucket', ',le="+Inf"')).toBe(2);
    expect(run('_count')).toBe(2);
    expect(run('_sum')).toBeCloseTo(400.02);
    expect(valueOf(metrics, 'holdfast_delivery_age_seconds_sum{handler="charge"}')).toBe(6);
  });

  test('show the outbox as the housekeeper last counted it, and nothing after it has given up that office [S1.10]', () => {
    const metrics = relayMetrics({ effects: virtualTime() });
    metrics.observe({ kind: 'units-acquired', units: [HOUSE_UNIT, 40, 41], orphaned: 1 });
    const one = { reason: 'no-worker', handler: 'mail', type: undefined, generation: 3, count: 4 } as const;
    metrics.observe(house({ unserved: [one, { ...one, handler: 'sms' }] }));
    metrics.observe(house({ pending: 9, isFull: true, unserved: [one] }));
    expect(valueOf(metrics, 'outbox_pending')).toBe(9);
    expect(valueOf(metrics, 'holdfast_outbox_failed')).toBe(2);
    expect(valueOf(metrics, 'holdfast_outbox_oldest_seconds')).toBe(1.5);
    expect(valueOf(metrics, 'holdfast_outbox_full')).toBe(1);
    const unserved = (handler: string): number | undefined =>
      valueOf(metrics, `holdfast_outbox_unserved{reason="no-worker",handler="${handler}",type="",generation="3"}`);
    expect(unserved('mail')).toBe(4);
    expect(unserved('sms')).toBeUndefined();
    expect(valueOf(metrics, 'holdfast_housekeeper')).toBe(1);
    expect(valueOf(metrics, 'holdfast_units_owned')).toBe(2);
    expect(valueOf(metrics, 'holdfast_units_orphaned_total')).toBe(1);

    metrics.observe({ kind: 'units-lost', units: [HOUSE_UNIT, 40], why: 'buried' });
    expect(valueOf(metrics, 'outbox_pending')).toBeUndefined();
    expect(valueOf(metrics, 'holdfast_housekeeper')).toBe(0);
    expect(unserved('mail')).toBeUndefined();
    expect(valueOf(metrics, 'holdfast_units_owned')).toBe(1);
    expect(valueOf(metrics, 'holdfast_units_lost_total{why="buried"}')).toBe(2);
    metrics.observe({ kind: 'stopped' });
    expect(valueOf(metrics, 'holdfast_units_owned')).toBe(0);
  });

  test('add up what an outbox and an inbox of one process count, each for as long as it has its lease', () => {
    const metrics = relayMetrics({ effects: virtualTime() });
    metrics.observe({ kind: 'units-acquired', units: [0], orphaned: 0 });
    metrics.observe({ kind: 'units-acquired', units: [1], orphaned: 0 });
    metrics.observe(house({ pending: 3, oldestMs: 4_000 }, 0));
    metrics.observe(house({ pending: 4, oldestMs: 9_000, isFull: true }, 1));
    expect(valueOf(metrics, 'outbox_pending')).toBe(7);
    expect(valueOf(metrics, 'holdfast_outbox_oldest_seconds')).toBe(9);
    expect(valueOf(metrics, 'holdfast_outbox_full')).toBe(1);
    metrics.observe({ kind: 'units-released', units: [1] });
    expect(valueOf(metrics, 'outbox_pending')).toBe(3);
    expect(valueOf(metrics, 'holdfast_outbox_full')).toBe(0);
    metrics.observe({ kind: 'units-lost', units: [0], why: 'refused' });
    expect(valueOf(metrics, 'outbox_pending')).toBeUndefined();
    expect(valueOf(metrics, 'holdfast_housekeeper')).toBe(0);
  });

  test('do not show counts that are too old', async () => {
    const time = virtualTime();
    const metrics = relayMetrics({ effects: time, sampleMaxAgeMs: 1_000 });
    metrics.observe(house());
    await time.advance(1_000);
    expect(valueOf(metrics, 'outbox_pending')).toBe(7);
    await time.advance(1);
    expect(valueOf(metrics, 'outbox_pending')).toBeUndefined();
    expect(valueOf(metrics, 'holdfast_housekeeper')).toBe(0);
  });

  test('count failures of the database by what was done', () => {
    const metrics = relayMetrics();
    metrics.observe({ kind: 'store-failed', during: 'read', error: new Error('x'), failures: 1 });
    expect(valueOf(metrics, 'holdfast_store_failures_total{during="read"}')).toBe(1);
  });

  test('are bounded: types made of ids are added up under "other"', () => {
    const metrics = relayMetrics();
    for (let i = 0; i < 3_000; i++) metrics.observe(done({ type: `order.${i}` }));
    const lines = metrics.text().split('\n');
    expect(lines.filter((line) => line.startsWith('outbox_published_total{'))).toHaveLength(2_001);
    expect(valueOf(metrics, 'outbox_published_total{type="other"}')).toBe(1_000);
  });
});

test('options of relayMetrics that cannot work are refused', () => {
  expect(() => relayMetrics({ sampleMaxAgeMs: -1, maxAge: 1 } as never)).toThrow(/maxAge.*sampleMaxAgeMs is -1/);
});

describe('the text', () => {
  const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
  const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
  const LINE = new RegExp(
    String.raw`^(?:# HELP ${NAME} .+|# TYPE ${NAME} (?:counter|gauge|histogram)|${NAME}(?:\{${LABEL}(?:,${LABEL})*\})? [0-9.e+-]+)$`,
    'u',
  );

  test('is of the format 0.0.4 whatever names it is given, each series once [S1.10]', () => {
    const name = fc.string({ unit: anyUnit, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(fc.tuple(name, name), { maxLength: 3 }), (pairs) => {
        const metrics = relayMetrics();
        for (const [handler, type] of pairs) {
          for (const event of [started({ type }, handler), done({ type }, handler), house()]) metrics.observe(event);
        }
        const text = metrics.text();
        expect(text.endsWith('\n')).toBe(true);
        const lines = text.slice(0, -1).split('\n');
        expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
        const series = lines.filter((line) => !line.startsWith('#')).map((line) => line.replace(/ [^ ]*$/, ''));
        expect(new Set(series).size).toBe(series.length);
      }),
      { numRuns: 20 },
    );
  });

  test('escapes quotes, backslashes and line ends in labels', () => {
    const metrics = relayMetrics();
    metrics.observe(done({ type: 'a"b\\c\nd' }));
    expect(metrics.text()).toContain(String.raw`outbox_published_total{type="a\"b\\c\nd"} 1`);
  });

  test('has help and type before the values of each metric', () => {
    const lines = relayMetrics().text().split('\n');
    const names = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2]);
    expect(new Set(names).size).toBe(names.length);
    expect(lines.filter((line) => line.startsWith('# HELP ')).map((line) => line.split(' ')[2])).toEqual(names);
  });
});
