// npm run bench                                  all topics, and one report in bench/out
// npm run bench -- engine drain --quick --json   one topic, or some measures of it
// npm run bench -- render                        writes the tables of README.md and docs/bench.md anew, from docs/reports/bench.json
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { renderPages } from './report/render-pages.ts';
import { exitCodeOf, type Report } from './report/report.ts';
import { writeReport } from './report/write-report.ts';
import { renderText } from './report/render-text.ts';
import { runTopics, timeLeft } from './run-topics.ts';
import type { Topic } from './topic.ts';
import { TOPICS } from './topics.ts';

process.exit(await main(process.argv.slice(2)));

// Progress goes beside the results, so that --json can be piped on.
function say(line: string): void {
  console.error(line);
}

async function main(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args;
  if (first === 'render') return renderPages(say);
  if (args.includes('--help')) {
    console.log(usage());
    return 0;
  }
  const topic = TOPICS.find(({ name }) => name === first);
  if (topic !== undefined) return run([topic], rest);
  if (first === undefined || first.startsWith('--')) return run(TOPICS, args);
  say(`There is no topic "${first}"; there are: ${TOPICS.map(({ name }) => name).join(', ')}, and render`);
  return 2;
}

function usage(): string {
  const topics = TOPICS.map(
    ({ name, measures, options, minutes }) =>
      `  ${name.padEnd(12)} ${minutes.full} min   ${measures.join(', ')}${options.map((option) => ` [--${option} n]`).join('')}`,
  );
  return [
    'npm run bench -- [topic [measure …]] [--quick] [--json] [--report folder]',
    'Without a topic all are run, and a report is written to bench/out. The topics and their measures:',
    ...topics,
    'npm run bench -- render   writes the tables of README.md and docs/bench.md from the report',
  ].join('\n');
}

type Options = NonNullable<ParseArgsConfig['options']>;

/** An error in place of an exception: who mistypes is told how it is written, without a stack. */
function parsedOf<O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    return error as Error;
  }
}

async function run(topics: readonly Topic[], args: readonly string[]): Promise<number> {
  const [only] = topics.length === 1 ? topics : [];
  const text = { type: 'string' } as const;
  const own = Object.fromEntries((only?.options ?? []).map((name) => [name, text]));
  const flags = { quick: { type: 'boolean' }, json: { type: 'boolean' }, report: text } as const;
  const parsed = parsedOf(args, { ...own, ...flags });
  if (parsed instanceof Error) {
    say(`${parsed.message}\n\n${usage()}`);
    return 2;
  }
  const { values, positionals } = parsed;
  const known = only?.measures ?? [];
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    say(`There is no measure "${unknown}"; there are: ${known.join(', ')}`);
    return 2;
  }
  const isQuick = values.quick === true;
  if (only === undefined)
    say(`All topics, ${timeLeft(topics, isQuick)}. Ctrl-C ends it, with all servers that were started.`);
  const asked = Object.fromEntries(
    Object.entries(values).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
  const command = `npm run bench${args.length > 0 || only ? ` -- ${[only?.name, ...args].filter(Boolean).join(' ')}` : ''}`;
  const folder = values.report ?? (only === undefined ? 'bench/out' : undefined);
  const onTopic = (soFar: Report): void => {
    if (folder !== undefined) say(`\n${writeReport(soFar, folder).join('\n')}`);
  };
  const call = { measures: positionals, isQuick, values: asked, say };
  const report = await runTopics(topics, call, { command, onTopic });
  console.log(values.json === true ? JSON.stringify(report, undefined, 2) : renderText(report));
  return exitCodeOf(report);
}
