import { checkChange } from '../../operator/check-request.ts';
import type { Operator } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { resolveHandler } from './resolve-handlers.ts';

/** The verbs on a key that stands still, each one statement. */
export function keyVerbs(sql: SqlRunner, schema: string): Pick<Operator, 'releaseKey' | 'skipKey'> {
  const ask = async (name: string, params: readonly (string | number | null)[]): Promise<unknown> => {
    const call = `${schema}.${name}($1::text::smallint, $2::text, $3::text, $4::text)::text`;
    return (await sql.query(`select ${call} as answer`, params))[0]?.['answer'];
  };
  return {
    async releaseKey(handler, key, by) {
      checkChange('releaseKey', by);
      const number = await resolveHandler(sql, schema, handler);
      if (typeof number !== 'number') return number;
      const count = await ask('operator_release_key', [number, key, by.actor, by.reason ?? null]);
      return { kind: 'released', count: Number(count) };
    },
    async skipKey(handler, key, by) {
      checkChange('skipKey', by, { needsReason: true });
      const number = await resolveHandler(sql, schema, handler);
      if (typeof number !== 'number') return number;
      const id = await ask('operator_skip_key', [number, key, by.actor, by.reason]);
      return typeof id === 'string' ? { kind: 'skipped', messageId: id } : { kind: 'nothing-failed' };
    },
  };
}
