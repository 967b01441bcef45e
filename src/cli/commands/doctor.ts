import { isHoldfastError } from '../../kernel/error.ts';
import { EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { counted } from '../counted.ts';
import type { Database } from '../database.ts';
import { describeProblem } from '../describe-problem.ts';
import type { CheckFinding } from '../../postgres/doctor/finding.ts';
import { hasSchema } from '../../postgres/doctor/schema-checks.ts';
import { OF_RELEASE, OF_SERVER, OF_TABLES, SCHEMA_VERSION } from '../../postgres/doctor/all-checks.ts';
import { STUCK_MS } from '../../postgres/doctor/finding.ts';
import { clock, connection } from '../doctor/connection-checks.ts';
import { type Default, defaults } from '../doctor/defaults.ts';
import type { Check, LocalExamination } from '../doctor/finding.ts';
import { mongoFindings } from '../doctor/mongo-checks.ts';
import { redisFindings } from '../doctor/redis-checks.ts';
import { pooler, wakeUp } from '../doctor/wake-up-checks.ts';

/** What can only be seen from here. */
const OF_HERE: Readonly<Record<string, Check>> = { clock, pooler, 'wake-up': wakeUp };

/** `holdfast doctor`: is everything as it should be? */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Look whether database, schema, workers and Redis are as they should be; print every default.',
  options: {
    'stuck-after': {
      value: '<time>',
      summary: 'a session idling in a transaction for so long is a problem',
      default: '60s',
    },
    redis: {
      value: '<url>',
      summary: 'a Redis that holds idempotency records; else HOLDFAST_REDIS_URL, REDIS_URL',
    },
  },
  details: ['Ends with exit code 1 if there is a problem. Warnings do not count as one.'],
  examples: ['holdfast doctor', 'holdfast doctor --json'],
  run: async (invocation) => {
    const mongo = await invocation.mongodb();
    const database = mongo ? undefined : await invocation.database();
    const ofRedis = await redisFindings(invocation.io, invocation.options.text('redis'));
    const ofDatabase = mongo
      ? await mongoFindings(invocation, mongo)
      : database && (await examine(invocation, database));
    const findings = [...(ofDatabase ?? []), ...ofRedis];
    const settings = defaults();
    invocation.output.answer({ isWell: isWell(findings), findings, defaults: settings }, () =>
      show(invocation, findings, settings),
    );
    return isWell(findings) ? EXIT.ok : EXIT.failed;
  },
};

function isWell(findings: readonly CheckFinding[]): boolean {
  return findings.every((one) => one.status !== 'problem');
}

async function examine({ io, options }: Invocation, database: Database): Promise<readonly CheckFinding[]> {
  const place = { target: database.target, schema: database.schema };
  const failed = (check: string, error: unknown): CheckFinding => {
    const [found = '', ...next] = describeProblem(error, place).split('; ');
    return { check, status: 'problem', found, next: next.join('; ') };
  };
  let examination: LocalExamination;
  try {
    const stuckMs = options.durationMs('stuck-after') ?? STUCK_MS;
    examination = { io, database, schema: database.schema, sql: await database.sql(), stuckMs };
  } catch (error) {
    return [failed('connection', error)];
  }
  const findings: CheckFinding[] = [];
  // Each further question would wait as long, and be answered no better.
  let isSilent = false;
  const runAll = async (checks: Readonly<Record<string, Check>>, missing?: string): Promise<void> => {
    for (const [name, check] of Object.entries(checks)) {
      const lacking = isSilent ? 'a database that answers' : missing;
      if (lacking !== undefined) {
        findings.push({ check: name, status: 'skipped', found: `needs ${lacking}` });
        continue;
      }
      const found = await check(examination).catch((error: unknown) => {
        isSilent = isHoldfastError(error, 'DATABASE_TIMEOUT');
        return failed(name, error);
      });
      findings.push(...[found].flat());
    }
  };
  await runAll({ connection });
  await runAll(OF_SERVER);
  await runAll(OF_HERE);
  await runAll(SCHEMA_VERSION);
  const isThere = !isSilent && (await hasSchema(examination).catch(() => false));
  const isFitting = findings.some((one) => one.check === 'schema version' && one.status === 'ok');
  await runAll(OF_TABLES, isThere ? undefined : 'the schema');
  await runAll(OF_RELEASE, isFitting ? undefined : 'the schema at the version of this release');
  return findings;
}

function show({ output }: Invocation, findings: readonly CheckFinding[], settings: readonly Default[]): void {
  const { paint } = output;
  const marks = {
    ok: paint.green('ok     '),
    warning: paint.yellow('warning'),
    problem: paint.red('problem'),
    skipped: paint.dim('skipped'),
  };
  const width = Math.max(...findings.map((one) => one.check.length));
  for (const { check, status, found, next } of findings) {
    output.line(`${marks[status]}  ${check.padEnd(width)}  ${found}`);
    if (next !== undefined) output.line(`${' '.repeat(11 + width)}→ ${next}`);
  }
  output.line();
  output.line(paint.bold('Defaults'));
  output.table(settings, [
    { title: 'SETTING', value: (one) => one.setting },
    { title: 'VALUE', value: (one) => one.value },
    { title: 'SET BY', value: (one) => one.set, shrinkTo: 10 },
  ]);
  output.line();
  const problems = findings.filter((one) => one.status === 'problem').length;
  const warnings = findings.filter((one) => one.status === 'warning').length;
  const also = warnings === 0 ? '' : ` and ${counted(warnings, 'warning')}`;
  output.line(
    problems > 0
      ? paint.red(`${counted(problems, 'problem')}${also}.`)
      : `All is well${warnings === 0 ? '' : `, with ${counted(warnings, 'warning')}`}.`,
  );
}
