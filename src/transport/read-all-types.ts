import { receivedAs } from './taken-as.ts';
import type { TransportHost } from './transport.ts';

/** What a message of a type is taken as; nothing: this service does not take it. */
export type TakenAs = (type: string) => string | undefined;

/**
 * Reads with all types that the service takes: those that handlers of this process take, and, where others are met, those of which the
 * database says that handlers of other processes do. While a new version is rolled out, only that knows its new types. Whoever
 * registers before the first message of a type is published is found here, because this asks when the message is there.
 */
export async function readAllTypes<Read>(
  { service, types, taken }: Pick<TransportHost, 'service' | 'types' | 'taken'>,
  read: (takenAs: TakenAs) => Read,
): Promise<Read> {
  const known = new Set(types);
  const unknown = new Set<string>();
  const found = read((type) => (known.has(type) ? receivedAs(service, type) : void unknown.add(type)));
  if (unknown.size === 0) return found;
  const also = await taken([...unknown]);
  if (also.length === 0) return found;
  for (const type of also) known.add(type);
  return read((type) => (known.has(type) ? receivedAs(service, type) : undefined));
}
