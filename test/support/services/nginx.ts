import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { debianPrograms } from '../debian-programs.ts';
import { onPath } from '../find-server.ts';
import type { Service } from '../service.ts';

/** nginx. Its "URL" is the path of the program; `startNginx` puts one in front of a server. */
export const nginx: Service = {
  howTo: 'install nginx',
  obtain: async (run) => {
    const found = onPath('nginx') ?? ['/usr/sbin/nginx'].find((file) => existsSync(file));
    return found ?? join(await debianPrograms(run, 'nginx'), 'usr', 'sbin', 'nginx');
  },
};
