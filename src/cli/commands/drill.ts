import type { DrillReport, Injected } from '../../drills/drill-report.ts';
import { FAULTS } from '../../chaos/fault-names.ts';
import { isWorkload, WORKLOADS } from '../../chaos/settings.ts';
import { ABOUT } from '../../chaos/words.ts';
import type { Drill } from '../../drills/drill.ts';
import { runDrills } from '../../drills/run-drills.ts';
import { nearest } from '../../kernel/check-options.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { hasConfig, loadDrills } from '../load-config.ts';
import type { Output } from '../output.ts';
import { runWorkload } from '../run-workload.ts';
import { showChecked, showEnd } from '../show-drill.ts';
import { stopSignals } from '../stop-signals.ts';
import { WORKLOAD_OPTIONS } from '../workload-options.ts';

/** `holdfast drill [name]`: breaks something on purpose, and looks whether what must hold does. */
export const drill: Command = {
  name: 'drill',
  summary: 'Break something on purpose, and see whether what must hold does.',
  args: { usage: '[name]', min: 0, max: 1 },
  verbs: WORKLOADS,
  options: {
    config: {
      value: '<file>',
      summary: 'the module that exports drills',
      default: 'holdfast.config.ts or .js',
    },
    all: { summary: 'run all of the module, one after the other' },
    wait: { value: '<time>', summary: 'how long to wait for what is expected', default: '30s, with a broker 60s' },
    ...WORKLOAD_OPTIONS,
  },
  details: [
    'Lists the drills where none is named: chaos, load and soak are built in, the others are those of the module. Each prints a',
    'ledger: what was injected and how often it hit, what was expected, what was seen. Exit code 1 when one does not hold, or',
    'when what was injected never hit. What was broken is put right at the end, also after Ctrl-C; a second Ctrl-C ends at once.',
    '',
    'The built-in ones bring a workload of their own: worker processes, a sender, and proxies between them and the database. They',
    'start a database for themselves, or use that of --url, in a schema and topics of their own that are taken away at the end.',
    'load writes over HTTP, with Redis as the first store of replies and the database as the truth; with a broker its messages travel',
    'to a service of its own. --redis names the Redis; without it the drill starts redis-server.',
    'Drills of a module have their database there: of the options below they take --config, --all and --wait.',
    '',
    'Faults of the built-in drills:',
    ...Object.entries(FAULTS).map(([name, about]) => `  ${name.padEnd(13)}  ${about}`),
  ],
  examples: [
    'holdfast drill',
    'holdfast drill chaos --report drill.html',
    'holdfast drill load --report load.html',
    'holdfast drill load --via rabbitmq --broker amqp://127.0.0.1:5672',
    'holdfast drill soak --for 30m --url $STAGING_URL --allow-remote db.staging.example',
    'holdfast drill duplicate-events --config ./drills.config.ts',
  ],
  run: async (invocation) => {
    const { io, options, args, output } = invocation;
    const [name] = args;
    const isAll = options.flag('all');
    if (name !== undefined && isAll) throw usageError('drill takes a name or --all, not both');
    if (name !== undefined && isWorkload(name)) return runWorkload(invocation, name);
    refuseWorkloadOptions(invocation, name);
    const waitMs = options.durationMs('wait');
    const config = options.text('config');
    const isListed = name === undefined && !isAll;
    const hasNone = config === undefined && !hasConfig(io.cwd);
    if (isListed && hasNone) return list(output, []);
    const drills = name !== undefined && hasNone ? [] : await loadDrills(io.cwd, config);
    if (isListed) return list(output, drills);
    return run(invocation, name === undefined ? drills : [chosen(drills, name)], waitMs);
  },
};

/** Somebody who names a fault or a broker means one of the built-in drills. */
function refuseWorkloadOptions({ options }: Invocation, name: string | undefined): void {
  const given = Object.keys(WORKLOAD_OPTIONS).find((one) => options.has(one));
  if (given === undefined) return;
  const what = name === undefined ? 'holdfast drill' : `the drill ${JSON.stringify(name)}`;
  throw usageError(`--${given} is for ${WORKLOADS.join(', ')}; ${what} does not take it`);
}

function chosen(drills: readonly Drill[], name: string): Drill {
  const found = drills.find((one) => one.name === name);
  if (found) return found;
  const names = [...WORKLOADS, ...drills.map((one) => one.name)];
  const near = nearest(name, names);
  const advice = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`;
  throw usageError(`there is no drill ${JSON.stringify(name)}; ${advice}`);
}

function list(output: Output, drills: readonly Drill[]): number {
  const builtIn = WORKLOADS.map((name) => ({ name, about: ABOUT[name], isBuiltIn: true }));
  const all = [...builtIn, ...drills.map(({ name, about }) => ({ name, about, isBuiltIn: false }))];
  output.answer({ drills: all }, () => {
    output.table(all, [
      { title: 'DRILL', value: ({ name }) => name },
      { title: 'WHAT HAPPENS', value: ({ about }) => about, shrinkTo: 20 },
    ]);
    output.line();
    output.line('holdfast drill <name> runs one, holdfast drill --all runs all of the module.');
  });
  return EXIT.ok;
}

async function run({ io, output }: Invocation, drills: readonly Drill[], waitMs: number | undefined): Promise<number> {
  const stop = stopSignals(io, (signal) =>
    io.err(`${signal}: stopping; what was broken is put right, once more ends at once\n`),
  );
  try {
    const reports = await runDrills(drills, {
      signal: stop.signal,
      waitMs,
      effects: io.effects,
      onStart: ({ name, about }) => {
        if (!output.isJson) output.line(`${output.paint.bold(name)}  ${about}`);
      },
      onReport: (report) => {
        if (!output.isJson) show(output, report);
      },
    });
    const held = reports.length === drills.length && reports.every((one) => one.held);
    output.answer({ held, drills: reports }, () => sayEnd(output, drills, reports));
    return held ? EXIT.ok : EXIT.failed;
  } finally {
    stop.forget();
  }
}

function show(output: Output, { injected, checked, problem, tookMs }: DrillReport): void {
  const { paint } = output;
  if (injected.length > 0) {
    output.line();
    output.table<Injected>(injected, [
      { title: 'INJECTED', value: ({ what }) => what, shrinkTo: 20 },
      {
        title: 'HITS',
        value: ({ hits }) => hits,
        align: 'right',
        paint: (text, { hits }) => (hits > 0 ? text : paint.red(text)),
      },
    ]);
  }
  showChecked(output, checked);
  showEnd(output, { problem, tookMs });
}

function sayEnd(output: Output, drills: readonly Drill[], reports: readonly DrillReport[]): void {
  if (drills.length === 1) return;
  const held = reports.filter((one) => one.held).length;
  const notRun = drills.length - reports.length;
  output.line(`${held} of ${drills.length} drills held${notRun > 0 ? `, ${notRun} did not run` : ''}.`);
}
