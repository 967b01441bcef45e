import { findServer } from '../find-server.ts';
import { localRabbitmq, planRabbitmq, probeRabbitmq } from '../rabbitmq-server.ts';
import { freePort } from '../private-server.ts';
import type { Service } from '../service.ts';
import { findRabbitmqServer } from './rabbitmq-server.ts';

/** RabbitMQ. Each test file owns the exchanges and queues whose names start with its namespace, and takes them away. */
export const rabbitmq: Service = {
  howTo: 'start a RabbitMQ on port 5672 (docker compose up -d rabbitmq does), or set HOLDFAST_RABBITMQ_URL',
  obtain: (run) =>
    findServer(run, {
      name: 'rabbitmq',
      variable: 'HOLDFAST_RABBITMQ_URL',
      port: 5672,
      localUrls: [localRabbitmq(5672)],
      probe: probeRabbitmq,
      compose: { service: 'rabbitmq', portVariable: 'HOLDFAST_RABBITMQ_PORT', url: localRabbitmq },
      own: {
        findProgram: findRabbitmqServer,
        install: 'rabbitmq-server',
        plan: async (program, folder, port) => {
          const ports = { port, distPort: await freePort(), epmdPort: await freePort() };
          return planRabbitmq({ program, folder, data: folder, ...ports });
        },
        url: localRabbitmq,
      },
    }),
};
