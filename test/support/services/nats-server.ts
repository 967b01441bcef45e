import { installDebianPackage, onPath } from '../find-server.ts';
import type { Service } from '../service.ts';

/** The program of NATS, for tests that kill and hang a server of their own. Its "URL" is the path of the program. */
export const natsServer: Service = {
  howTo: 'install nats-server, or set NATS_SERVER_PATH to its program',
  obtain: async (run) => {
    const given = run.env['NATS_SERVER_PATH'];
    if (given !== undefined && given !== '') return given;
    const found = onPath('nats-server');
    if (found !== undefined) return found;
    await installDebianPackage(run, 'nats-server');
    const installed = onPath('nats-server');
    if (installed === undefined) throw new Error('the package nats-server was installed but its program is not there');
    return installed;
  },
};
