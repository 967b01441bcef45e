import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError, EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { counted } from '../counted.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { describeRefusal } from '../refusal.ts';

/** `holdfast dlq:edit`: another payload for a failed message, which then runs again. */
export const dlqEdit: Command = {
  name: 'dlq:edit',
  summary: 'Change the payload of a failed message and run it again.',
  options: {
    id: { value: '<id>', summary: 'a dead letter or a message' },
    'payload-file': { value: '<file>', summary: 'a file with the new payload as JSON' },
    'if-version': { value: '<n>', summary: 'only if it is still at this version' },
    generation: { value: '<n>', summary: 'process it in this generation', default: 'the one it has' },
    reason: { value: '<text>', summary: 'why, for the audit' },
  },
  details: [
    'The old payload is kept as a version. Refused once any handler has succeeded with the old one.',
    'holdfast dlq:show <id> --json gives the payload to begin with.',
  ],
  examples: [
    `holdfast dlq:edit --id 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11:3 --payload-file mended.json --reason 'wrong currency'`,
  ],
  run: async (invocation) => {
    const { options, output } = invocation;
    const id = options.required('id', '<id>');
    const payload = await readPayload(invocation, options.required('payload-file', 'mended.json'));
    const operator = await openOperator(invocation);
    const result = await operator.edit(id, payload, byWhom(invocation), {
      version: options.count('if-version', 0),
      generation: options.count('generation', 0),
    });
    if (result.kind === 'already-delivered') {
      const done = result.handlers.join(', ');
      throw new CliError(
        `${done} succeeded with the payload as it was, so it cannot change any more; send a new message`,
      );
    }
    if (result.kind !== 'edited') throw new CliError(describeRefusal(result, id));
    output.answer(result, () => {
      const count = counted(result.count, 'delivery', 'deliveries');
      output.line(`The payload is at version ${result.version}; ${count} will run again.`);
    });
    return EXIT.ok;
  },
};

async function readPayload({ io }: Invocation, path: string): Promise<unknown> {
  const file = resolve(io.cwd, path);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}); see the path`, {
      cause: error,
    });
  });
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    // The parser's own message holds a piece of the text.
    throw new CliError(`${path} is not JSON; write the payload as JSON`, { cause: error });
  }
}
