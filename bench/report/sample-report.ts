import { contestantOf } from '../result/contestant.ts';
import { judge, judgeValue } from '../result/judge.ts';
import type { Contestant, Result } from '../result/result.ts';
import type { Report, TopicReport } from './report.ts';

/** A report as a run makes it, with one result of each kind; for tests. */
export function sampleReport({ isQuick = false }: { readonly isQuick?: boolean } = {}): Report {
  return {
    isQuick,
    command: 'npm run bench',
    machine: { cores: 2, processor: 'a <fast> one', memoryGb: 8, system: 'Linux 6', node: 'v24.0.0' },
    topics: [
      topicOf('engine', [drain(), growing()]),
      topicOf('operate', [call('overview', 98), call('metrics', 335), call('groups', 12)]),
      { ...topicOf('brokers', []), failure: 'Kafka did not start: <no java>' },
    ],
  };
}

function topicOf(name: string, results: readonly Result[]): TopicReport {
  return {
    name,
    title: `About ${name}`,
    startedAt: '2026-11-16T03:22:10.000Z',
    endedAt: '2026-11-16T03:28:50.000Z',
    load: { before: 1.7, after: 2 },
    settings: { server_version: '15.18 (Debian)', fsync: 'on', rounds: 3 },
    packages: { 'pg-boss': '12.32.1' },
    results,
  };
}

/** 1.5 × the better peer, and slower than by hand. */
function drain(): Result {
  const ours = contestantOf({ name: 'holdfast', role: 'ours', rounds: [30_000, 29_000, 33_000] });
  const peers = [
    contestantOf({ name: 'pg-boss', role: 'peer', rounds: [20_000, 19_000, 21_000] }),
    contestantOf({ name: 'other <b>', role: 'peer', rounds: [10_000] }),
  ];
  const bare = contestantOf({ name: 'by hand', role: 'bare', rounds: [60_000] });
  return {
    id: 'drain',
    measure: 'drain of 60,000 | one process',
    contestants: [ours, ...peers, bare],
    verdicts: [judge(ours, peers, 3), judge(ours, [bare], 0.5)],
    note: 'Ours keeps "order" & history.',
  };
}

/** Slower than the peer at the last place. */
function growing(): Result {
  const [first, last] = [at('holdfast', 'ours', 1, 10_000), at('holdfast', 'ours', 4, 9_000)];
  const peers = [at('pg-boss', 'peer', 1, 5_000), at('pg-boss', 'peer', 4, 12_000)];
  const usual: Contestant = { ...first, name: 'holdfast at 1', role: 'usual' };
  return {
    id: 'workers',
    measure: 'drain by several',
    along: 'processes',
    contestants: [first, last, ...peers],
    verdicts: [judge(last, [usual], 0.8), judge(last, peers.slice(1))],
  };
}

function call(name: string, p95: number): Result {
  return {
    id: `calls.${name}`,
    measure: name,
    group: 'reads over HTTP',
    contestants: [ms('p50', p95 / 2), ms('p95', p95)],
    verdicts: [judgeValue(p95, '<', 300, 'ms', 'p95')],
  };
}

function at(name: string, role: 'ours' | 'peer', place: number, rate: number): Contestant {
  return contestantOf({ name, role, rounds: [rate], at: place });
}

function ms(name: string, value: number): Contestant {
  return contestantOf({ name, role: 'ours', unit: 'ms', rounds: [value] });
}
