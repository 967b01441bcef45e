import type { Messages } from '../../operator/message-list.ts';
import type { SqlRunner } from '../sql-runner.ts';

async function notBuilt(): Promise<never> {
  throw new Error('not built yet');
}

/** To be built. */
export function messageList(_sql: SqlRunner, _schema: string): Messages {
  return {
    messages: notBuilt,
    messageTabs: notBuilt,
  };
}
