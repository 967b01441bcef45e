import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { COMMANDS } from '../../src/cli/all-commands.ts';
import { type CommandLine, parseLine } from '../../src/cli/parse-line.ts';
import { needs } from '../support/needs.ts';

const test = needs('kubernetesValidate');
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MANIFEST = join(ROOT, 'examples/budget-services/deploy/kubernetes.yaml');

/** What a container runs, and the kind of what runs it. */
interface Started {
  readonly kind: string;
  readonly command: readonly string[];
}

function python(
  packages: string,
  ...args: readonly string[]
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return promisify(execFile)('python3', [...args], { env: { ...process.env, PYTHONPATH: packages } });
}

/** All containers of the manifest, as its own parser reads it. */
async function startedBy(packages: string): Promise<readonly Started[]> {
  const program = `import json, sys, yaml
for one in yaml.safe_load_all(open(sys.argv[1])):
    job = one['spec'].get('jobTemplate', one)
    for container in job['spec']['template']['spec']['containers']:
        print(json.dumps({'kind': one['kind'], 'command': container['command']}))`;
  const { stdout } = await python(packages, '-c', program, MANIFEST);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Started);
}

test('the budget services: the manifests for Kubernetes fit its schemas, and what is misspelt does not [S1.4]', async ({
  kubernetesValidate,
}) => {
  const validate = (file: string): Promise<unknown> =>
    python(kubernetesValidate.url, '-m', 'kubernetes_validate', '--strict', file);
  await expect(validate(MANIFEST)).resolves.toBeDefined();
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-manifest-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const wrong = join(folder, 'wrong.yaml');
  writeFileSync(wrong, readFileSync(MANIFEST, 'utf8').replace('concurrencyPolicy', 'concurencyPolicy'));
  await expect(validate(wrong)).rejects.toMatchObject({ stdout: expect.stringContaining('concurencyPolicy') });
});

test('the budget services: what the manifests start is there, and the relay takes its options [S1.4]', async ({
  kubernetesValidate,
}) => {
  const started = await startedBy(kubernetesValidate.url);
  expect(started.map(({ kind }) => kind)).toEqual(['Deployment', 'Deployment', 'CronJob']);
  const lines: (readonly [string, CommandLine])[] = [];
  for (const { kind, command } of started) {
    const [node, file = '', ...args] = command;
    expect([node, existsSync(join(ROOT, file))]).toEqual(['node', true]);
    if (file === 'dist/cli/main.js') lines.push([kind, parseLine(args, COMMANDS)]);
  }
  expect(lines.map(([kind, { command, options }]) => [kind, command?.name, options.flag('once')])).toEqual([
    ['Deployment', 'relay', false],
    ['CronJob', 'relay', true],
  ]);
  for (const [, { options }] of lines) expect(existsSync(join(ROOT, options.text('config') ?? '-'))).toBe(true);
});
