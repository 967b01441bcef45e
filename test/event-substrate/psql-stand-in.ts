// node psql-stand-in.ts <url> [--csv | -At] -c <statement>: as much of psql as the runbook uses, for machines without it.
import { parseArgs } from 'node:util';
import { Client, type QueryArrayResult } from 'pg';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    csv: { type: 'boolean' },
    A: { type: 'boolean', short: 'A' },
    t: { type: 'boolean', short: 't' },
    c: { type: 'string', short: 'c' },
  },
});
// Values as the server writes them.
const types = { getTypeParser: () => String };
const client = new Client({ connectionString: positionals[0], types });
await client.connect();
const { fields, rows }: QueryArrayResult = await client.query({ text: values.c ?? '', rowMode: 'array' });
const separator = values.csv === true ? ',' : '|';
if (values.csv === true) console.log(fields.map((field) => field.name).join(separator));
for (const row of rows) console.log((row as (string | null)[]).map((value) => value ?? '').join(separator));
await client.end();
