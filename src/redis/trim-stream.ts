import type { RunCommand } from './redis-commands.ts';

/**
 * Takes away entries that are older than `keepMs` and that every group has acknowledged. A group that was left behind keeps them all:
 * what nobody has read is not lost. Commands that an older Redis does not know leave everything as it is.
 */
export async function trimStream(run: RunCommand, stream: string, keepMs: number): Promise<void> {
  if (!Number.isFinite(keepMs)) return;
  const [time] = (await run('TIME')) as [string];
  let upTo = `${Math.max(0, Number(time) * 1_000 - keepMs)}-0`;
  for (const group of groupsOf(await run('XINFO', 'GROUPS', stream))) {
    const name = String(group.get('name'));
    const [, first] = (await run('XPENDING', stream, name)) as [number, string | null];
    const open = first === null ? String(group.get('last-delivered-id')) : first;
    if (isBefore(open, upTo)) upTo = open;
  }
  await run('XTRIM', stream, 'MINID', '~', upTo);
}

function groupsOf(answer: unknown): readonly ReadonlyMap<string, unknown>[] {
  return (answer as readonly unknown[]).map((group) => {
    if (group instanceof Map) return group as Map<string, unknown>;
    if (!Array.isArray(group)) return new Map(Object.entries(group as object));
    const pairs = new Map<string, unknown>();
    for (let at = 0; at + 1 < group.length; at += 2) pairs.set(String(group[at]), group[at + 1]);
    return pairs;
  });
}

function isBefore(one: string, other: string): boolean {
  const [aMs = 0, aSeq = 0] = one.split('-').map(Number);
  const [bMs = 0, bSeq = 0] = other.split('-').map(Number);
  return aMs < bMs || (aMs === bMs && aSeq < bSeq);
}
