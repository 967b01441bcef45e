// node operator-process.ts <options as JSON>
//
// An operator who acts on dead letters at random, one verb after the other, until there are none. May be killed at any time: the next
// one resumes what is paused.
import { postgresOperator } from 'holdfast/postgres';
import { Pool } from 'pg';
import type { DeadLetter } from 'holdfast/operator';
import { AWKWARD_HANDLERS, SCHEMA, type Step } from './crash-events.ts';
import { openJournal } from './journal.ts';
import type { WorkerOptions } from './worker-process.ts';

/** To the operator: from here on pause nothing. */
export type LastWord = 'finish';

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const write = openJournal(options.journal);
const pool = new Pool({ connectionString: options.url, max: 3, connectionTimeoutMillis: 2_000 });
pool.on('error', () => undefined);
const operator = postgresOperator({ pool, schema: SCHEMA });
const by = { actor: options.name, reason: 'at random' };
let isFinishing = false;
process.on('message', () => (isFinishing = true));
process.on('disconnect', () => process.exit());

/** Each does one thing to one or many of these dead letters, and says what came of it. */
const VERBS: Readonly<Record<string, (dead: readonly DeadLetter[]) => Promise<unknown>>> = {
  pause: async () => {
    if (isFinishing) return { kind: 'not now' };
    const handler = anyOf(AWKWARD_HANDLERS);
    const paused = await operator.pause(handler, by);
    await pause(20 + Math.random() * 100);
    await operator.resume(handler, by);
    return paused;
  },
  'replay key': async (dead) => {
    const { handler, key } = anyOf(dead);
    return operator.replayKey(handler, key ?? '', by);
  },
  edit: async (dead) => {
    const spoiled = dead.filter(({ error }) => error?.name === 'TerminalHandlerError').slice(0, 20);
    const edited = await Promise.all(spoiled.map(({ messageId }) => edit(messageId)));
    return { kind: edited.find((kind) => kind === 'edited') ?? edited[0] ?? 'nothing' };
  },
  'replay one': async (dead) => operator.replay(anyOf(dead).id, by),
  'replay where': async (dead) =>
    operator.replayWhere({ handler: anyOf(dead).handler, limit: 1 + Math.floor(Math.random() * 200) }, by),
  bulk: async (dead) => {
    const filter = { handler: anyOf(dead).handler };
    const canary = Math.floor(Math.random() * 3);
    const { bulk } = await operator.planBulk({ verb: 'replay', filter, canary, limit: 300 }, by);
    const started = await operator.startBulk(bulk.id, by);
    if (canary === 1) await operator.pauseBulk(bulk.id, by);
    return started;
  },
  discard: async (dead) => {
    const harmed = dead.filter(({ error }) => error?.name !== 'TerminalHandlerError');
    return harmed.length > 0 ? operator.discard(anyOf(harmed).id, by) : { kind: 'nothing' };
  },
  'skip key': async (dead) => {
    const { handler, key } = anyOf(dead);
    return operator.skipKey(handler, key ?? '', by);
  },
};

write('mark', 'ready');
let isResumed = false;
for (let turn = 0; ; turn += 1) {
  try {
    isResumed ||= await resumeAll();
    if (turn % 8 === 0) await goOn();
    const { items } = await operator.deadLetters({ limit: 500 });
    const name = Object.keys(VERBS)[turn % Object.keys(VERBS).length] ?? '';
    if (items.length > 0 || name === 'pause') {
      const outcome = (await VERBS[name]?.(items)) as { kind: string };
      write('mark', `${name}: ${outcome.kind}`);
    }
  } catch (error) {
    write('mark', `failed: ${String(error)}`);
    // It may have been in the middle of a pause.
    isResumed = false;
  }
  await pause(isFinishing ? 5 : Math.random() * 40);
}

/** What another was killed in the middle of. */
async function resumeAll(): Promise<boolean> {
  for (const handler of AWKWARD_HANDLERS) await operator.resume(handler, by);
  return true;
}

async function goOn(): Promise<void> {
  const { items } = await operator.bulks({ state: 'paused' });
  for (const { id } of items) await operator.resumeBulk(id, by);
}

async function edit(messageId: string): Promise<string> {
  const found = await operator.show(messageId);
  if (found.kind !== 'found') return found.kind;
  const step = found.message.payload as Step;
  const edited = await operator.edit(messageId, { ...step, version: (step.version ?? 0) + 1 }, by);
  return edited.kind;
}

function anyOf<T>(list: readonly T[]): T {
  const chosen = list[Math.floor(Math.random() * list.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
