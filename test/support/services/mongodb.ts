import { findServer } from '../find-server.ts';
import { fetchMongod, findMongod } from '../mongodb-program.ts';
import { localMongodb, mongodCommand, probeMongodb, withMongodb } from '../mongodb-server.ts';
import type { Service } from '../service.ts';

/** MongoDB, a replica set. Each test file owns the database with the name of its namespace. */
export const mongodb: Service = {
  howTo:
    'start a replica set of MongoDB on port 27017 (docker compose up -d mongodb does), or set HOLDFAST_MONGODB_URL',
  obtain: (run) =>
    findServer(run, {
      name: 'mongodb',
      variable: 'HOLDFAST_MONGODB_URL',
      port: 27_017,
      localUrls: [localMongodb(27_017)],
      probe: probeMongodb,
      compose: { service: 'mongodb', portVariable: 'HOLDFAST_MONGODB_PORT', url: localMongodb },
      own: {
        findProgram: findMongod,
        install: fetchMongod,
        plan: (program, folder, port) => ({ server: mongodCommand(program, folder, port) }),
        url: localMongodb,
      },
    }),
  clean: (url, namespace) => withMongodb(url, async (client) => void (await client.db(namespace).dropDatabase())),
};
