// The module that `holdfast relay --config` is given: a service whose ledger refuses some expenses until MENDED is set.
import { event, holdfast, TerminalHandlerError } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Pool } from 'pg';

interface Expense {
  readonly employee: string;
  readonly amount: number;
  /** What the ledger does with it: takes it, refuses it, tries in vain, or takes for ever. */
  readonly ledger: 'takes' | 'refuses' | 'fails' | 'hangs';
}

export const expenseFiled = event<Expense, Expense>('expense.filed', { key: (expense) => expense.employee });

const pool = new Pool({ connectionString: process.env['HOLDFAST_DATABASE_URL'] });
const schema = process.env['HOLDFAST_SCHEMA'];

export const hf = holdfast({ service: 'expenses', store: postgres({ pool, schema }) });

hf.on(expenseFiled, 'ledger', async ({ ledger, amount }, ctx) => {
  const isMended = process.env['MENDED'] !== undefined;
  if (ledger === 'refuses' && !isMended) throw new TerminalHandlerError(`no account for ${amount}`);
  if (ledger === 'fails' && !isMended) throw new Error('the ledger is closed');
  if (ledger === 'hangs') {
    process.stdout.write('hanging\n');
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    throw ctx.signal.reason;
  }
});

hf.project(expenseFiled, 'totals', async () => undefined, { repeatable: true });
