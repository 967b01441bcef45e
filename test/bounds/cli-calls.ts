import { runHere } from '../cli/run-here.ts';
import type { BoundedCall, RealServers } from './bounded-call.ts';
import { type SilentPeer, silentWay } from './silent-peer.ts';
import { urlThrough } from './sql-kit.ts';

/** With this a server says that it has let a client in. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Commands of the program: they end, and say so. */
export function cliCalls({ postgres: url, schema }: RealServers): readonly BoundedCall[] {
  const env = { PGCONNECT_TIMEOUT: '2', HOLDFAST_STATEMENT_TIMEOUT: '2' };
  const run = async (argv: readonly string[], through: string): Promise<string> => {
    const { code, out, err } = await runHere([...argv, '--url', through, '--schema', schema], { env });
    return `${String(code)} ${/did not answer|cannot be reached/.exec(out + err)?.[0] ?? out + err}`;
  };
  const cold: BoundedCall = {
    call: 'holdfast <command>',
    variant: 'connecting',
    ends: '1 did not answer',
    run: (peer) => run(['dlq:list'], urlThrough(url, peer)),
  };
  const warm = (argv: readonly string[]): BoundedCall => {
    let way: SilentPeer | undefined;
    return {
      call: 'holdfast <command>',
      variant: argv.join(' '),
      ends: '1 did not answer',
      run: async () => {
        way = await silentWay(url, READY);
        return run(argv, urlThrough(url, way));
      },
      end: () => way?.close(),
    };
  };
  return [
    cold,
    warm(['doctor']),
    warm(['migrate']),
    warm(['dlq:list']),
    warm(['run:show', 'run_1']),
    warm(['trace', 'request-1']),
  ];
}
