import { runCli } from '../../src/cli/run-cli.ts';
import { systemEffects } from '../../src/index.ts';
import type { Said } from './holdfast-process.ts';

/** Runs the program in this process, as if nobody sat before it. */
export async function runHere(argv: readonly string[], { env }: { readonly env: NodeJS.ProcessEnv }): Promise<Said> {
  let [out, err] = ['', ''];
  const code = await runCli(
    argv,
    {
      out: (text) => (out += text),
      err: (text) => (err += text),
      isTty: false,
      canAsk: false,
      width: Infinity,
      env,
      cwd: process.cwd(),
      user: 'tester@here',
      processName: 'here:1',
      effects: systemEffects,
      ask: async () => '',
      inputEnd: async () => undefined,
      onSignal: () => () => undefined,
      exit: (exitCode) => {
        throw new Error(`ended at once with ${exitCode}`);
      },
    },
    '0.0.0',
  );
  return { code, out, err };
}
