import { Environment } from '../local-processes/environment.ts';

/** Other people's services that the backend calls. */
export const PARTNERS = ['interview', 'agent', 'git', 'llm'] as const;

export type PartnerName = (typeof PARTNERS)[number];

/** What all processes of the example are told, by the environment. */
export interface Settings {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Stands before the names of streams. */
  readonly prefix: string;
  readonly apiPort: number;
  readonly partners: Readonly<Record<PartnerName, URL>>;
  /** What services show each other. */
  readonly a2aKey: string;
  /** What the Git host wants to see. */
  readonly gitToken: string;
  /** Where partners keep what they know. */
  readonly dataDir: string;
  /** How many times shorter than real waits are. */
  readonly speed: number;
  /** How long one try of a call to another service may take, in milliseconds. */
  readonly callTimeoutMs: number;
}

/** Reads the environment. Throws `SettingsError` with everything that is missing or wrong. */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const read = new Environment(env);
  const settings: Settings = {
    databaseUrl: read.text('DATABASE_URL', 'postgres://postgres@127.0.0.1:5432/postgres'),
    redisUrl: read.text('REDIS_URL', 'redis://127.0.0.1:6379'),
    prefix: env['GROWTH_PREFIX'] ?? '',
    apiPort: read.number('GROWTH_PORT', 3100, [1, 65_535]),
    partners: {
      interview: read.url('INTERVIEW_URL', 'http://127.0.0.1:3101'),
      agent: read.url('OPENCODE_URL', 'http://127.0.0.1:3102'),
      git: read.url('GITEA_URL', 'http://127.0.0.1:3103'),
      llm: read.url('LLM_URL', 'http://127.0.0.1:3104'),
    },
    a2aKey: env['A2A_ALLOWED_KEY'] || 'local-a2a-key',
    gitToken: env['GITEA_TOKEN'] || 'local-gitea-token',
    dataDir: env['GROWTH_DATA'] || '.holdfast/growth',
    speed: read.number('GROWTH_SPEED', 1, [1, 1_000]),
    callTimeoutMs: read.number('GROWTH_CALL_TIMEOUT_MS', 10_000, [1, 600_000]),
  };
  read.check();
  return settings;
}
