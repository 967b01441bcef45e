import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isWorkload } from '../chaos/settings.ts';
import type { Drill } from '../drills/drill.ts';
import type { Holdfast } from '../service/holdfast.ts';
import type { StartOptions } from '../service/start-options.ts';
import { CliError } from './cli-error.ts';

const NAMES = ['holdfast.config.ts', 'holdfast.config.mts', 'holdfast.config.js', 'holdfast.config.mjs'];

/** A service as the relay command needs it. */
type StartableService = Pick<Holdfast<never>, 'service' | 'start' | 'importDead'>;

/** What a user's module holds. */
export interface LoadedConfig {
  readonly service: StartableService;
  /** What the relay is started with besides: observers, traces, times. */
  readonly startOptions: StartOptions;
  /** Is called when all has stopped, to send what is left: spans, metrics. */
  readonly afterStop: () => unknown;
}

/**
 * Imports the user's module and takes from it what `holdfast()` gave, its default export or `hf`, and `startOptions` and `afterStop`
 * where it has them.
 */
export async function loadConfig(cwd: string, given: string | undefined): Promise<LoadedConfig> {
  const { name, module } = await loadModule(cwd, given, 'what holdfast() gives');
  const service = module['default'] ?? module['hf'];
  if (!isStartable(service)) {
    throw new CliError(`${name} exports no service; write export default holdfast({ … }), or export const hf`);
  }
  const { startOptions = {}, afterStop = () => undefined } = module;
  if (typeof startOptions !== 'object' || startOptions === null)
    throw new CliError(`startOptions of ${name} is no object; write what hf.start() takes, or leave it out`);
  if (typeof afterStop !== 'function')
    throw new CliError(`afterStop of ${name} is no function; write one, or leave it out`);
  return { service, startOptions, afterStop: afterStop as LoadedConfig['afterStop'] };
}

/** Imports the user's module and takes `drills` from it. */
export async function loadDrills(cwd: string, given: string | undefined): Promise<readonly Drill[]> {
  const { name, module } = await loadModule(cwd, given, 'drills');
  const { drills } = module;
  if (!Array.isArray(drills) || drills.length === 0 || !drills.every(isDrill)) {
    throw new CliError(`${name} exports no drills; write export const drills = [drill('name', { … })]`);
  }
  const names = new Set<string>();
  for (const one of drills as readonly Drill[]) {
    if (isWorkload(one.name))
      throw new CliError(`${name} exports a drill of the name ${one.name}, which is built in; rename it`);
    if (names.has(one.name)) throw new CliError(`${name} exports two drills of the name ${one.name}; rename one`);
    names.add(one.name);
  }
  return drills;
}

/** Whether there is a module where one is looked for. */
export function hasConfig(cwd: string): boolean {
  return NAMES.some((one) => existsSync(resolve(cwd, one)));
}

interface LoadedModule {
  /** As the person wrote it. */
  readonly name: string;
  readonly module: Readonly<Record<string, unknown>>;
}

async function loadModule(cwd: string, given: string | undefined, exported: string): Promise<LoadedModule> {
  const name = given ?? NAMES.find((one) => existsSync(resolve(cwd, one)));
  if (name === undefined) {
    throw new CliError(
      `no ${NAMES[0] ?? ''} is here; write one that exports ${exported}, or name another with --config`,
    );
  }
  const file = resolve(cwd, name);
  if (!existsSync(file)) throw new CliError(`there is no file ${name}; see the path after --config`);
  return { name, module: await importFile(file, name) };
}

async function importFile(file: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      const advice = 'this Node does not run TypeScript by itself; use Node 22.18 or newer, or name a .js file';
      throw new CliError(`${name} cannot be loaded: ${advice}`, { cause: error });
    }
    throw new CliError(`${name} cannot be loaded: ${String(message ?? error)}; HOLDFAST_DEBUG=1 shows where`, {
      cause: error,
    });
  }
}

function isStartable(value: unknown): value is StartableService {
  return typeof value === 'object' && value !== null && 'start' in value && typeof value.start === 'function';
}

function isDrill(value: unknown): value is Drill {
  const { name, run, stage } = (value ?? {}) as Partial<Drill>;
  return typeof name === 'string' && typeof run === 'function' && typeof stage?.open === 'function';
}
