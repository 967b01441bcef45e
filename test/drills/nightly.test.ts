import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../../scripts/run-tool.ts';
import { runHere } from '../cli/run-here.ts';

interface Workflow {
  readonly on: { readonly schedule?: readonly object[] };
  readonly jobs: {
    readonly load: {
      readonly strategy: { readonly matrix: { readonly via: readonly string[] } };
      readonly steps: readonly { readonly run?: string; readonly uses?: string; readonly with?: { path?: string } }[];
    };
  };
}

const { on, jobs } = parse(readFileSync(join(ROOT, '.github/workflows/nightly.yml'), 'utf8')) as Workflow;
const { steps, strategy } = jobs.load;
const command = steps.flatMap(({ run }) => (run?.startsWith('npm run drill -- ') === true ? [run] : []));

test('every night the load drill runs over HTTP, RabbitMQ and Kafka, and its page is kept [S1.12]', () => {
  expect(on.schedule).toHaveLength(1);
  expect(strategy.matrix.via).toEqual(['http', 'rabbitmq', 'kafka']);
  expect(command).toHaveLength(1);
  const [, file] = /--report (.+\.html)$/.exec(command[0] ?? '') ?? [];
  expect(steps.find(({ uses }) => uses?.startsWith('actions/upload-artifact') === true)?.with?.path).toBe(file);
});

test.each(strategy.matrix.via)('the command of the night is one the program takes, via %s [S1.12]', async (via) => {
  const given = (command[0] ?? '').replaceAll('${{ matrix.via }}', via).split(' ').slice(4);
  // Whatever is wrong with the options is said before anything is started; this fault is what is wrong.
  const broker = { rabbitmq: ['--broker', 'amqp://127.0.0.1'], kafka: ['--broker', '127.0.0.1:1'] }[via] ?? [];
  const args = [...given, ...broker, '--redis', 'redis://127.0.0.1', '--fault', 'none-like-it'];
  const { code, err } = await runHere(['drill', ...args], { env: {} });
  expect([code, err]).toEqual([2, expect.stringContaining('there is no fault "none-like-it"')]);
});
