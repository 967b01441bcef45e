// Drills without a system behind them, for how the command runs them. What they do is written to the file that TOLD names.
import { appendFileSync } from 'node:fs';
import { type Drill, drill } from 'holdfast/drills';

function tell(what: string): void {
  const file = process.env['TOLD'];
  if (file) appendFileSync(file, `${what}\n`);
}

const stage = {
  open: async () => tell('opened'),
  close: async () => tell('closed'),
};

export const drills: readonly Drill[] = [
  drill('held', {
    about: 'Something breaks, and all is well.',
    stage,
    run: async (_, run) => {
      run.inject('a service is stopped').hit(3);
      run.check('state', 'blocked', 'blocked');
      await run.until('rows', [1], () => [1]);
    },
  }),
  drill('missed', {
    about: 'Something is meant to break, and does not.',
    stage,
    run: async (_, run) => {
      run.inject('a service is stopped');
      run.check('state', 'blocked', 'done');
    },
  }),
  drill('endless', {
    about: 'It waits for what never comes.',
    stage,
    run: async (_, run) => {
      run.after(() => tell('put right'));
      run.inject('a service is stopped').hit();
      process.stderr.write('waiting\n');
      await run.until('state', 'blocked', () => 'running');
    },
  }),
];
