import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../scripts/run-tool.ts';
import type { Report, TopicReport } from './report/report.ts';
import type { Topic, TopicCall } from './topic.ts';

/**
 * Runs topics one after the other. One that fails is told as failed, and the others still run. After each `onTopic` has the report as
 * far as it is, so that an hour is not lost to the last minute.
 */
export async function runTopics(
  topics: readonly Topic[],
  call: TopicCall,
  { command, onTopic }: { readonly command: string; readonly onTopic: (soFar: Report) => void },
): Promise<Report> {
  const found: TopicReport[] = [];
  const soFar = (): Report => ({ isQuick: call.isQuick, command, machine: machineOf(), topics: [...found] });
  for (const [n, topic] of topics.entries()) {
    if (topics.length > 1)
      call.say(`\n${topic.title} (${n + 1} of ${topics.length}; ${timeLeft(topics.slice(n), call.isQuick)})`);
    found.push(await runTopic(topic, call));
    onTopic(soFar());
  }
  return soFar();
}

async function runTopic(topic: Topic, call: TopicCall): Promise<TopicReport> {
  const { name, title } = topic;
  const started = { startedAt: new Date().toISOString(), before: loadNow() };
  const told = (rest: Pick<TopicReport, 'settings' | 'results' | 'failure'>): TopicReport => ({
    name,
    title,
    startedAt: started.startedAt,
    endedAt: new Date().toISOString(),
    load: { before: started.before, after: loadNow() },
    packages: Object.fromEntries(topic.packages.map((one) => [one, versionOf(one)])),
    ...rest,
  });
  try {
    return told(await topic.run(call));
  } catch (error) {
    call.say(`${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    const failure = error instanceof Error ? error.message : String(error);
    return told({ settings: {}, results: [], failure });
  }
}

/** `about 12 minutes to go`. */
export function timeLeft(topics: readonly Topic[], isQuick: boolean): string {
  const minutes = topics.reduce((sum, topic) => sum + (isQuick ? topic.minutes.quick : topic.minutes.full), 0);
  return `about ${minutes} minute${minutes === 1 ? '' : 's'} to go`;
}

function loadNow(): number {
  return Math.round((loadavg()[0] ?? 0) * 10) / 10;
}

function machineOf(): Report['machine'] {
  const all = cpus();
  return {
    cores: all.length,
    processor: all[0]?.model.trim() || 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
  };
}

/** Of the package as it is installed. */
function versionOf(name: string): string {
  const manifest = readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
