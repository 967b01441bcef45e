import type { OutboundItem, OutboundOutcome, PublishingHandler } from './handler.ts';
import { type CarriedTrace, type RunAbout, runWrapped, type RunWrapper } from './run-wrapper.ts';

/** A message on its way out, with the trace that it goes on with. */
export interface TracedItem extends OutboundItem {
  trace: CarriedTrace | undefined;
}

/** Publishes messages together, inside the wrapper of each of them; `about` says which runs they are. */
export async function publishWrapped<Item extends TracedItem>(
  wrapRun: RunWrapper | undefined,
  { publish }: Pick<PublishingHandler, 'publish'>,
  items: readonly Item[],
  about: (item: Item) => Pick<RunAbout, 'handler' | 'delivery' | 'attempt'>,
): Promise<readonly OutboundOutcome[]> {
  if (!wrapRun) return publish(items);
  let outcomes: readonly OutboundOutcome[] = [];
  const innermost = async (): Promise<unknown> => (outcomes = await publish(items));
  await items.reduceRight<() => unknown>(
    (inner, item) => () => {
      const { handler, delivery, attempt } = about(item);
      return runWrapped(wrapRun, { handler, delivery, attempt, isPublish: true }, (trace) => {
        item.trace = trace;
        return inner();
      });
    },
    innermost,
  )();
  return outcomes;
}
