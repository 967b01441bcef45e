import { type Holdfast, holdfast, type Logger, type StartOptions } from 'holdfast';
import { type FactRecorder, factRecorder, postgres } from 'holdfast/postgres';
import { logRelay } from 'holdfast/telemetry';
import { Pool, type PoolClient } from 'pg';
import { growStream } from './events/grow-stream.ts';
import { growthLog } from './growth-log.ts';
import type { Settings } from './settings.ts';

/** A service of the backend, as one process has it. */
export interface GrowthService {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
  readonly logger: Logger;
  /** Keeps requests and calls for `holdfast trace`. */
  readonly facts: FactRecorder;
  /** Give it to `hf.start`. */
  readonly startOptions: StartOptions;
  /** Closes what it was made with. Stop the relay before. */
  readonly close: () => Promise<void>;
}

const LEASE_MS = 10_000;
const SHORTEST_LEASE_MS = 3_000;

/** Ties a service to the database and to the stream of canonical events. It starts nothing. */
export function growthService(name: 'workflows' | 'projections', process: string, settings: Settings): GrowthService {
  const pool = new Pool({ connectionString: settings.databaseUrl });
  const logger = growthLog(process);
  pool.on('error', ({ message }) => logger.warn({ problem: message }, 'a connection to PostgreSQL broke'));
  const { route, client } = growStream(settings);
  const facts = factRecorder({
    service: name,
    pool,
    onLost: (lost) => logger.warn({ ...lost }, 'facts were lost: holdfast trace will not show them'),
  });
  return {
    hf: holdfast({ service: name, store: postgres({ pool }), transport: [route] }),
    pool,
    logger,
    facts,
    startOptions: {
      name: process,
      observers: [logRelay(logger), facts.relay],
      leaseMs: Math.max(SHORTEST_LEASE_MS, Math.round(LEASE_MS / settings.speed)),
    },
    close: async () => {
      client.disconnect();
      await facts.stop();
      await pool.end();
    },
  };
}
