import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { WorkloadName } from '../chaos/settings.ts';
import type { WorkloadProgress } from '../chaos/words.ts';
import type { LedgerReport } from '../drills/ledger.ts';
import { runDrills } from '../drills/run-drills.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { Invocation } from './command.ts';
import { progressOn } from './progress.ts';
import { showChecked, showEnd } from './show-drill.ts';
import { showCounts, showFaults } from './show-ledger.ts';
import { stopSignals } from './stop-signals.ts';
import { workloadSettings } from './workload-options.ts';

/** Runs a built-in drill, shows its ledger, and answers the exit code: 1 when the promise was broken, or the run proved nothing. */
export async function runWorkload(invocation: Invocation, name: WorkloadName): Promise<number> {
  const { io, output, options } = invocation;
  const settings = workloadSettings(invocation, name);
  const [{ workload }, { ledgerPage }] = await Promise.all([
    import('../chaos/workload.ts'),
    import('../drills/page/ledger-page.ts'),
  ]);
  const progress = progressOn(io, output);
  const made = workload(settings, (told) => progress.bar(told.share, 1, progressText(told)));
  if (!output.isJson) output.line(`${output.paint.bold(name)}  ${made.drill.about}`);
  progress.show('starting');
  const stop = stopSignals(io, (signal) => {
    progress.end();
    io.err(`${signal}: stopping; what was made is taken away, once more ends at once\n`);
  });
  try {
    const [report] = await runDrills([made.drill], { signal: stop.signal, effects: io.effects });
    progress.end();
    if (report === undefined) throw new CliError('the drill was stopped before it began');
    const whole: LedgerReport = { ...report, ledger: made.ledger() };
    const file = options.text('report');
    if (file !== undefined) await writeFile(resolve(io.cwd, file), ledgerPage(whole));
    output.answer({ held: whole.held, drills: [whole] }, () => {
      if (whole.ledger) {
        output.line();
        showFaults(output, whole.ledger);
        output.line();
        showCounts(output, whole.ledger);
      }
      showChecked(output, whole.checked);
      showEnd(output, whole);
      if (file !== undefined) output.line(`The ledger as a page: ${file}`);
    });
    return whole.held ? EXIT.ok : EXIT.failed;
  } finally {
    progress.end();
    stop.forget();
  }
}

function progressText({ phase, sent, effects, fault }: WorkloadProgress): string {
  const now = fault === undefined ? phase : `${phase}, ${fault}`;
  return `${sent} sent, ${effects} effects  ${now}`;
}
