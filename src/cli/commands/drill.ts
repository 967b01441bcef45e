import type { Checked, DrillReport, Injected } from '../../drills/drill-report.ts';
import type { Drill } from '../../drills/drill.ts';
import { runDrills } from '../../drills/run-drills.ts';
import { nearest } from '../../kernel/check-options.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatDuration } from '../duration.ts';
import { loadDrills } from '../load-config.ts';
import type { Output } from '../output.ts';

/** `holdfast drill [name]`: breaks something on purpose, and looks whether what must hold does. */
export const drill: Command = {
  name: 'drill',
  summary: 'Break something on purpose, and see whether what must hold does.',
  args: { usage: '[name]', min: 0, max: 1 },
  options: {
    config: {
      value: '<file>',
      summary: 'the module that exports drills',
      default: 'holdfast.config.ts or .js',
    },
    all: { summary: 'run all of them, one after the other' },
    wait: { value: '<time>', summary: 'how long to wait for what is expected', default: '30s' },
  },
  details: [
    'Lists the drills of the module where none is named. Each prints a ledger: what was injected and how often it hit, what',
    'was expected, what was seen. Exit code 1 when one does not hold, or when what was injected never hit. What was broken',
    'is put right at the end, also after Ctrl-C; a second Ctrl-C ends at once. The module has the database, so --url and',
    '--schema do nothing here.',
  ],
  examples: ['holdfast drill', 'holdfast drill duplicate-events --config ./drills.config.ts', 'holdfast drill --all'],
  run: async (invocation) => {
    const { io, options, args, output } = invocation;
    const [name] = args;
    if (name !== undefined && options.flag('all')) throw usageError('drill takes a name or --all, not both');
    const waitMs = options.durationMs('wait');
    const drills = await loadDrills(io.cwd, options.text('config'));
    if (name === undefined && !options.flag('all')) return list(output, drills);
    return run(invocation, name === undefined ? drills : [chosen(drills, name)], waitMs);
  },
};

function chosen(drills: readonly Drill[], name: string): Drill {
  const found = drills.find((one) => one.name === name);
  if (found) return found;
  const names = drills.map((one) => one.name);
  const near = nearest(name, names);
  const advice = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`;
  throw usageError(`there is no drill ${JSON.stringify(name)}; ${advice}`);
}

function list(output: Output, drills: readonly Drill[]): number {
  output.answer({ drills: drills.map(({ name, about }) => ({ name, about })) }, () => {
    output.table(drills, [
      { title: 'DRILL', value: ({ name }) => name },
      { title: 'WHAT HAPPENS', value: ({ about }) => about, shrinkTo: 20 },
    ]);
    output.line();
    output.line('holdfast drill <name> runs one, holdfast drill --all runs all.');
  });
  return EXIT.ok;
}

async function run({ io, output }: Invocation, drills: readonly Drill[], waitMs: number | undefined): Promise<number> {
  const stop = new AbortController();
  const forget = io.onSignal((signal) => {
    // 128 and the number of the signal, as a shell would say it.
    if (stop.signal.aborted) io.exit(signal === 'SIGINT' ? 130 : 143);
    io.err(`${signal}: stopping; what was broken is put right, once more ends at once\n`);
    stop.abort();
  });
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
    forget();
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
  if (checked.length > 0) {
    output.line();
    output.table<Checked>(checked, [
      { title: 'CHECKED', value: ({ what }) => what, shrinkTo: 20 },
      { title: 'EXPECTED', value: ({ expected }) => expected, shrinkTo: 12 },
      { title: 'SEEN', value: ({ seen }) => seen, shrinkTo: 12 },
      {
        title: 'HELD',
        value: ({ held }) => (held ? 'yes' : 'no'),
        paint: (text, { held }) => (held ? paint.green(text) : paint.red(text)),
      },
    ]);
  }
  // A table cuts what is long, and there the difference may be.
  for (const { what, expected, seen, held } of checked) {
    if (held) continue;
    output.line();
    output.line(`${what}:`);
    output.fields([
      ['  expected', expected],
      ['  seen', seen],
    ]);
  }
  output.line();
  const end = problem === undefined ? paint.green('Held') : paint.red(`Did not hold: ${problem}`);
  output.line(`${end}, after ${formatDuration(tookMs)}.`);
  output.line();
}

function sayEnd(output: Output, drills: readonly Drill[], reports: readonly DrillReport[]): void {
  if (drills.length === 1) return;
  const held = reports.filter((one) => one.held).length;
  const notRun = drills.length - reports.length;
  output.line(`${held} of ${drills.length} drills held${notRun > 0 ? `, ${notRun} did not run` : ''}.`);
}
