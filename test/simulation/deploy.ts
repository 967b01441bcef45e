import { HANDLER_NAMES, REPEATABLE, TYPES } from './handlers.ts';
import { GENERATIONS, type Stage } from './stage.ts';

/** Makes handlers known before the first message, as the first deployment does. */
export async function deploy({ store, temper: { isPinned } }: Stage): Promise<void> {
  const session = store.openSession();
  const id = 'deployment';
  const generation = isPinned ? GENERATIONS[0] : undefined;
  const handlers = HANDLER_NAMES.map((name) => ({
    name,
    types: TYPES[name],
    isPinned,
    isRepeatable: REPEATABLE.has(name),
  }));
  await session.register({ id, name: id, service: 'simulation', generation, handlers, leaseMs: 1 });
  await session.leave(id);
}
