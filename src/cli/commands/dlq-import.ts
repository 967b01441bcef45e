import { counted } from '../counted.ts';
import { EXIT } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { loadConfig } from '../load-config.ts';

/** `holdfast dlq:import`: takes in the dead letters that brokers keep. */
export const dlqImport: Command = {
  name: 'dlq:import',
  summary: 'Take in the dead letters that brokers keep.',
  options: {
    config: {
      value: '<file>',
      summary: 'the module that exports what holdfast() gives',
      default: 'holdfast.config.ts or .js',
    },
    quiet: { value: '<time>', summary: 'end when nothing has come for this long', default: '3s' },
  },
  details: [
    'They become dead letters of from-<transport> here and are dealt with like any other: dlq:list, dlq:show, dlq:replay,',
    'dlq:discard. A replay gives them to their handlers. The module has the database, so --url and --schema do nothing here.',
  ],
  examples: ['holdfast dlq:import', 'holdfast dlq:import --config ./orders.config.js --quiet 10s'],
  run: async ({ io, options, output }) => {
    const { service } = await loadConfig(io.cwd, options.text('config'));
    const quietMs = options.durationMs('quiet');
    const found = await service.importDead(quietMs === undefined ? {} : { quietMs });
    output.record({ ...found }, () => {
      const known = found.known > 0 ? `, ${found.known} ${found.known === 1 ? 'was' : 'were'} here already` : '';
      const own = found.own > 0 ? `, ${found.own} ${found.own === 1 ? 'is a copy' : 'are copies'} of our own` : '';
      output.line(`${counted(found.imported, 'dead letter')} imported${known}${own}`);
    });
    return EXIT.ok;
  },
};
