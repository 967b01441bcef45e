import { findServer, onPath } from '../find-server.ts';
import { dropStreams, localNats, planNats, probeNats } from '../nats-server.ts';
import type { Service } from '../service.ts';

/** NATS with JetStream. Each test file owns the streams whose names start with its namespace. */
export const nats: Service = {
  howTo: 'start a NATS with JetStream on port 4222 (docker compose up -d nats does), or set HOLDFAST_NATS_URL',
  obtain: (run) =>
    findServer(run, {
      name: 'nats',
      variable: 'HOLDFAST_NATS_URL',
      port: 4222,
      localUrls: [localNats(4222)],
      probe: probeNats,
      compose: { service: 'nats', portVariable: 'HOLDFAST_NATS_PORT', url: localNats },
      own: {
        findProgram: () => onPath('nats-server'),
        install: 'nats-server',
        plan: (program, folder, port) => planNats({ program, folder, data: folder, port }),
        url: localNats,
      },
    }),
  clean: dropStreams,
};
