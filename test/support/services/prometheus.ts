import { dirname, join } from 'node:path';
import { debianPrograms } from '../debian-programs.ts';
import { onPath } from '../find-server.ts';
import type { Service } from '../service.ts';

/** Prometheus and promtool. Its "URL" is the folder of the two programs. */
export const prometheus: Service = {
  howTo: 'install prometheus (its programs prometheus and promtool must be on the PATH)',
  obtain: async (run) => {
    const found = onPath('promtool');
    if (found !== undefined && onPath('prometheus') !== undefined) return dirname(found);
    return join(await debianPrograms(run, 'prometheus'), 'usr', 'bin');
  },
};
