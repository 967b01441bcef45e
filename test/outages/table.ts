import { type Provider, providers } from './providers.ts';
import { type OutageResult, simulateOutage, type Traffic } from './simulate-outage.ts';

/** One line of the table: several outages of one kind, put together. */
export interface OutageRow extends OutageResult {
  readonly traffic: string;
  readonly provider: string;
  /** Messages. */
  readonly perSecond: number;
  /** 0: it never recovers. */
  readonly downMs: number;
  readonly failuresEach: number;
  /** How many outages. */
  readonly runs: number;
}

interface TrafficPlan extends Traffic {
  readonly downMs: number;
  readonly sendsMs: number;
  /** How many outages, each of another length: a recovery meets the probes at any moment. */
  readonly runs: number;
}

const FEW: readonly TrafficPlan[] = [
  { name: '1 a minute', everyMs: 60_000, each: 1, downMs: 600_000, sendsMs: 1_200_000, runs: 8 },
  { name: '1 a second', everyMs: 1_000, each: 1, downMs: 60_000, sendsMs: 120_000, runs: 8 },
  { name: '20 a second', everyMs: 50, each: 1, downMs: 20_000, sendsMs: 40_000, runs: 4 },
];
const MANY: readonly TrafficPlan[] = [
  { name: '200 a second', everyMs: 10, each: 2, downMs: 10_000, sendsMs: 20_000, runs: 2 },
  { name: '1,000 a second', everyMs: 10, each: 10, downMs: 10_000, sendsMs: 20_000, runs: 1 },
];

/** How many lines the whole table has, without its head. */
export const TABLE_ROWS = (FEW.length + MANY.length) * providers(0).length;

/** Every provider under every traffic. The same each time. `isFull`: also under heavy traffic. */
export async function outageTable(isFull: boolean): Promise<readonly OutageRow[]> {
  const rows: OutageRow[] = [];
  for (const plan of isFull ? [...FEW, ...MANY] : FEW) {
    for (const [place] of providers(0).entries()) rows.push(await rowOf(plan, place));
  }
  return rows;
}

async function rowOf(plan: TrafficPlan, place: number): Promise<OutageRow> {
  const results: OutageResult[] = [];
  let [name, downMs, failuresEach] = ['', 0, 0];
  for (let run = 0; run < plan.runs; run++) {
    const provider: Provider | undefined = providers(plan.downMs + run * 777)[place];
    if (!provider) continue;
    ({ name, failuresEach } = provider);
    downMs = provider.recoversAtMs === 0 ? 0 : plan.downMs;
    results.push(await simulateOutage({ provider, traffic: plan, sendsMs: plan.sendsMs, seed: run + 1 }));
  }
  const sum = (of: (one: OutageResult) => number): number => results.reduce((all, one) => all + of(one), 0);
  const delaysMs = results.flatMap((one) => one.delaysMs).sort((a, b) => a - b);
  return {
    traffic: plan.name,
    provider: name,
    downMs,
    failuresEach,
    runs: results.length,
    delaysMs,
    perSecond: (plan.each * 1e3) / plan.everyMs,
    sent: sum(({ sent }) => sent),
    delivered: sum(({ delivered }) => delivered),
    dead: sum(({ dead }) => dead),
    wasted: sum(({ wasted }) => wasted) / results.length,
  };
}

/** The table as the docs show it. */
export function outageMarkdown(rows: readonly OutageRow[]): string {
  const lines = rows.map(({ traffic, provider, downMs, sent, delivered, dead, wasted, delaysMs }) => {
    const cells = [
      traffic,
      provider,
      downMs === 0 ? '–' : `${downMs / 1_000} s`,
      `${sent} / ${delivered} / ${dead}`,
      `${(p95(delaysMs) / 1_000).toFixed(1)} s`,
      String(Math.round(wasted)),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| messages | provider | down for | sent / delivered / dead | p95 delay | failed calls of each outage |',
    '|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

/** 95 of 100 are not above it. */
export function p95(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length * 0.95)] ?? 0;
}
