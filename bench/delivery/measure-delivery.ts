import { contestantOf } from '../result/contestant.ts';
import { formatValue, perSecond } from '../result/format.ts';
import { judge } from '../result/judge.ts';
import { quantile } from '../result/quantile.ts';
import type { Contestant as Measured, Result } from '../result/result.ts';
import type { Child } from './child-process.ts';
import type { Contestant, Job } from './contestant.ts';
import type { Arrivals } from './sink-process.ts';

/** What a measure is given. */
export interface DeliveryBench {
  readonly ours: () => Promise<Contestant>;
  readonly theirs: () => Promise<Contestant>;
  /** Tells its ports. */
  readonly sink: Child<readonly number[]>;
  readonly size: {
    readonly count: number;
    readonly rounds: number;
    readonly concurrency: number;
    readonly scheduled: number;
  };
  readonly say: (line: string) => void;
}

const DAY_MS = 86_400_000;
const LOOK_MS = 25;

function jobsFor(ports: readonly number[], count: number): readonly Job[] {
  return Array.from({ length: count }, (_, n) => ({
    url: `http://127.0.0.1:${ports[n % ports.length] ?? 0}/hooks/orders`,
    body: JSON.stringify({ event: 'order.placed', n, customer: `customer-${n}`, note: 'x'.repeat(120) }),
  }));
}

/** Deliveries a second, from the first that arrives until all are written as delivered. */
async function rateOf(
  contestant: Contestant,
  { sink, size, say }: DeliveryBench,
  ports: readonly number[],
): Promise<number> {
  await contestant.fill(jobsFor(ports, size.count));
  await sink.ask('begin');
  const worker = await contestant.start(size.concurrency);
  const cpuBeforeMs = await worker.cpuMs();
  const arrived = async (): Promise<Arrivals> => (await sink.ask('tell')) as Arrivals;
  while ((await arrived()).count < size.count) await pause(LOOK_MS);
  while (!(await contestant.isDrained())) await pause(LOOK_MS);
  const endMs = Date.now();
  const { count, firstMs } = await arrived();
  const cpuMs = (await worker.cpuMs()) - cpuBeforeMs;
  await worker.stop();
  const rate = (size.count / (endMs - firstMs)) * 1_000;
  const perOne = ((cpuMs / size.count) * 1_000).toFixed(0);
  say(`  ${contestant.name} ${perSecond(rate)}, ${perOne} µs of processor time each, ${count} arrived`);
  return rate;
}

/** To one destination, and to several. */
export async function drain(bench: DeliveryBench): Promise<Result[]> {
  const { sink, size, say } = bench;
  const [first = 0] = sink.first;
  const results: Result[] = [];
  for (const [id, where, ports] of [
    ['one', 'one destination', [first]],
    ['several', `${sink.first.length} destinations`, sink.first],
  ] as const) {
    say(`  ${where}`);
    const rates = new Map<string, number[]>();
    // In turns, so that a noisy machine favours nobody.
    for (let round = 0; round < size.rounds; round++) {
      for (const open of round % 2 === 0 ? [bench.ours, bench.theirs] : [bench.theirs, bench.ours]) {
        const contestant = await open();
        const rate = await rateOf(contestant, bench, ports);
        rates.set(contestant.name, [...(rates.get(contestant.name) ?? []), rate]);
        await contestant.close();
      }
    }
    const all = [...rates].map(([name, rounds]) =>
      contestantOf({ name, role: name === 'holdfast' ? 'ours' : 'peer', rounds }),
    );
    const [ours, peers] = [all.find(({ role }) => role === 'ours'), all.filter(({ role }) => role === 'peer')];
    if (ours === undefined) throw new Error('none of ours was measured');
    results.push({
      id: `drain.${id}`,
      measure: `${size.count.toLocaleString('en')} deliveries to ${where}, ${size.concurrency} at once`,
      contestants: [ours, ...peers],
      verdicts: [judge(ours, peers, 1.5)],
      note: 'Ours signs every request, checks the address, logs every attempt and syncs to disk; the peer’s Redis syncs once a second.',
    });
  }
  return results;
}

const PUBLISH_RATE = 200;
const PUBLISH_SECONDS = 5;
// A process that has just started compiles what it runs: neither side is timed meanwhile.
const WARM_SECONDS = 2;

/** How long it takes to publish one message, at a steady rate, while a backlog is delivered. */
export async function publishUnderLoad(bench: DeliveryBench): Promise<Result[]> {
  const { sink, size, say } = bench;
  const contestants: Measured[] = [];
  for (const open of [bench.ours, bench.theirs]) {
    const contestant = await open();
    const backlog = size.count * 5;
    await contestant.fill(jobsFor(sink.first, backlog));
    await sink.ask('begin');
    const worker = await contestant.start(size.concurrency);
    while (((await sink.ask('tell')) as Arrivals).count < size.count / 4) await pause(LOOK_MS);
    for (const [way, publish] of Object.entries(worker.publish)) {
      await publishSteadily(publish, jobsFor(sink.first, PUBLISH_RATE * WARM_SECONDS));
      const took = await publishSteadily(publish, jobsFor(sink.first, PUBLISH_RATE * PUBLISH_SECONDS));
      const isStillBusy = ((await sink.ask('tell')) as Arrivals).count < backlog;
      for (const share of [0.5, 0.99]) {
        const [name, ms] = [`${contestant.name} by ${way}, p${share * 100}`, quantile(took, share)];
        const role = open === bench.ours ? 'ours' : 'peer';
        contestants.push(contestantOf({ name, role, unit: 'ms', rounds: [ms] }));
        say(`  ${name} ${formatValue(ms, 'ms')}${isStillBusy ? '' : ' (the backlog was gone before the end)'}`);
      }
    }
    await worker.stop();
    await contestant.close();
  }
  const ours = contestants.find(({ name }) => name.includes('library') && name.endsWith('p99'));
  const theirs = contestants.filter(({ role, name }) => role === 'peer' && name.endsWith('p99'));
  return [
    {
      id: 'publish',
      measure: `publishing ${PUBLISH_RATE} messages a second, one by one, while a backlog is delivered`,
      contestants,
      verdicts: ours === undefined ? [] : [judge(ours, theirs)],
      note: 'The ratio is that of the p99 by a call of the library. Over HTTP the one process that answers also delivers.',
    },
  ];
}

/** Publishes at the rate, whether or not the ones before are done; answers how long each took. */
async function publishSteadily(publish: (job: Job) => Promise<void>, jobs: readonly Job[]): Promise<number[]> {
  const took: number[] = [];
  const startedMs = performance.now();
  const calls: Promise<void>[] = [];
  for (const [n, job] of jobs.entries()) {
    await pause(Math.max(0, startedMs + (n * 1_000) / PUBLISH_RATE - performance.now()));
    const atMs = performance.now();
    calls.push(publish(job).then(() => void took.push(performance.now() - atMs)));
  }
  await Promise.all(calls);
  return took;
}

/** The same deliveries with very many that are not due beside them. */
export async function scheduled(bench: DeliveryBench): Promise<Result[]> {
  const { sink, size, say } = bench;
  const contestant = await bench.ours();
  const without: number[] = [];
  const beside: number[] = [];
  await rateOf(contestant, bench, sink.first);
  for (let round = 0; round < size.rounds; round++) without.push(await rateOf(contestant, bench, sink.first));
  const atMs = performance.now();
  for (let left = size.scheduled; left > 0; left -= 50_000) {
    await contestant.fill(jobsFor(sink.first, Math.min(left, 50_000)), DAY_MS);
    say(`  ${left} to schedule, ${((performance.now() - atMs) / 1_000).toFixed(0)} s`);
  }
  for (let round = 0; round < size.rounds; round++) beside.push(await rateOf(contestant, bench, sink.first));
  await contestant.close();
  const ours = contestantOf({ name: 'holdfast, beside them', role: 'ours', rounds: beside });
  const usual = contestantOf({ name: 'holdfast, without', role: 'usual', rounds: without });
  return [
    {
      id: 'scheduled',
      measure: `deliveries beside ${size.scheduled.toLocaleString('en')} scheduled messages, against none`,
      contestants: [ours, usual],
      verdicts: [judge(ours, [usual], 0.8)],
    },
  ];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
