import { HANDLERS } from './step.ts';
import type { Site } from './site.ts';
import { until } from './until.ts';

/** What came of replaying. */
export interface Replays {
  readonly accepted: number;
  /** Those that found nothing to replay: the message was handled, or another operator was first. */
  readonly refused: number;
}

/**
 * Takes the cause of some dead letters away, and replays each by two operators at once, and once more by the names of its handlers after it
 * was handled. Each may have one effect for all that.
 */
export async function replayMended({ database, settings: { waitMs } }: Site, signal: AbortSignal): Promise<Replays> {
  const { quoted, consumerOperator: operator } = database;
  await database.rows(`insert into ${quoted}.drill_mended default values`);
  const rows = await database.rows<{ id: string }>(
    `select id::text as id from ${quoted}.drill_sent where kind = 'mended'`,
  );
  const ids = rows.map(({ id }) => id);
  const answers: { readonly kind: string }[] = [];
  for (const id of ids) {
    answers.push(
      ...(await Promise.all([operator.replay(id, { actor: 'ann' }), operator.replay(id, { actor: 'bob' })])),
    );
  }
  await until(async () => (await database.openOf(ids)) === 0, { withinMs: waitMs, signal });
  for (const id of ids) answers.push(await operator.replay(id, { actor: 'eve' }, { handlers: [...HANDLERS] }));
  const accepted = answers.filter(({ kind }) => kind === 'replayed').length;
  return { accepted, refused: answers.length - accepted };
}
