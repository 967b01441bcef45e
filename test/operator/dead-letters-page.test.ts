import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');
const page = readFileSync(new URL('../../docs/dead-letters.md', import.meta.url), 'utf8');
const ID = '0198c0de-0000-7000-8000-000000000001';

/** The statements of the page's SQL blocks, in their order. */
const statements = [...page.matchAll(/^```sql\n([^]*?)^```$/gm)]
  .flatMap(([, block = '']) => block.split(/;\n/))
  .filter((statement) => statement.trim() !== '');

test('the SQL of docs/dead-letters.md runs as it stands and answers [S4.4]', async ({ postgres }) => {
  const database = await OperatorDatabase.open(postgres);
  await database.handler(1, 'mail', 'welcome');
  await database.dead({ id: ID });
  await database.operator.pause('welcome', ANN);
  const answers: Record<string, unknown>[] = [];
  for (const statement of statements) {
    const rows = await database.sql(statement.replaceAll('holdfast.', '$S.'));
    expect(rows, statement).toHaveLength(1);
    answers.push(rows[0] ?? {});
  }
  expect(answers).toMatchObject([
    { id: ID, last_error: 'SMTP_DOWN: no answer' },
    { handler: 'welcome', code: 'SMTP_DOWN', count: '1' },
    { projector: 'welcome', status: 'failed' },
    { verb: 'pause', actor: 'ann' },
    { outbox_replay: { answer: 'replayed', count: 1 } },
  ]);
});
