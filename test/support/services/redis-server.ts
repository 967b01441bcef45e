import { installDebianPackage, onPath } from '../find-server.ts';
import type { Service } from '../service.ts';

/** The program of Redis, for tests that stop, hang and fill a server of their own. Its "URL" is the path of the program. */
export const redisServer: Service = {
  howTo: 'install redis-server, or set REDIS_SERVER_PATH to its program',
  obtain: async (run) => {
    const given = run.env['REDIS_SERVER_PATH'];
    if (given !== undefined && given !== '') return given;
    const found = onPath('redis-server');
    if (found !== undefined) return found;
    await installDebianPackage(run, 'redis-server');
    const installed = onPath('redis-server');
    if (installed === undefined) throw new Error('the package redis-server was installed but its program is not there');
    return installed;
  },
};
