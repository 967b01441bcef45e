import type { PrivateServer } from './private-server.ts';

/**
 * A real server (or program) that tests need. One small file in `services/` describes each; everything else, such as where to
 * look first, when to install and how to clean up, is the same for all and lives in `find-server.ts`.
 */
export interface Service {
  /** What to do where it cannot be had: shown by the skipped test. */
  readonly howTo: string;
  /** Finds or starts it. Throws with the reason when that cannot be done here. */
  readonly obtain: (run: TestRun) => Promise<string>;
  /** Makes a fresh namespace on the server at `url` and answers the URL that leads into it. Default: nothing to make. */
  readonly prepare?: (url: string, namespace: string) => Promise<string>;
  /** Removes the namespace with everything in it. */
  readonly clean?: (url: string, namespace: string) => Promise<void>;
}

/** What a service may use while it is looked for: one per run of the tests, shared by all of them. */
export interface TestRun {
  readonly env: NodeJS.ProcessEnv;
  /** Says one line to the person in front of the machine, before anything is changed on it. */
  readonly announce: (line: string) => void;
  /** Starts a server that ends with this run, however the run ends. */
  readonly start: (server: PrivateServer) => Promise<void>;
}
