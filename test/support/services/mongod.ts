import { fetchMongod, findMongod } from '../mongodb-program.ts';
import type { Service } from '../service.ts';

/** The program of MongoDB, for tests that stop, hang and kill a server of their own. Its "URL" is the path of the program. */
export const mongod: Service = {
  howTo: 'install MongoDB, or set MONGOD_PATH to its program mongod',
  obtain: async (run) => {
    if (findMongod() === undefined) await fetchMongod(run);
    const found = findMongod();
    if (found === undefined) throw new Error('MongoDB was fetched but its program is not there');
    return found;
  },
};
