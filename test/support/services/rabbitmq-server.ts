import { globSync } from 'node:fs';
import { installDebianPackage } from '../find-server.ts';
import type { Service } from '../service.ts';

/** The program of RabbitMQ, for tests that kill and hang a server of their own. Its "URL" is the path of the program. */
export const rabbitmqServer: Service = {
  howTo: 'install rabbitmq-server, or set RABBITMQ_SERVER_PATH to its program',
  obtain: async (run) => {
    const given = run.env['RABBITMQ_SERVER_PATH'];
    if (given !== undefined && given !== '') return given;
    const found = findRabbitmqServer();
    if (found !== undefined) return found;
    await installDebianPackage(run, 'rabbitmq-server');
    const installed = findRabbitmqServer();
    if (installed === undefined)
      throw new Error('the package rabbitmq-server was installed but its program is not there');
    return installed;
  },
};

/** Not the one on the PATH: that becomes another user, with a home and log files of its own. */
export function findRabbitmqServer(): string | undefined {
  return globSync('/usr/lib/rabbitmq/{bin,lib/*/sbin}/rabbitmq-server').toSorted()[0];
}
