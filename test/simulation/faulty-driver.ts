import { ConnectionLost, type Driver, type Link, type Query } from '../../src/postgres/driver/driver.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What can go wrong around one statement. */
export interface StatementFaults {
  readonly random: SeededRandom;
  /** Part of the statements that go wrong now, from 0 to 1. */
  readonly rate: () => number;
  /** Is told of each that goes wrong. */
  readonly onFault: () => void;
  /** Cuts a connection of this worker at the server. */
  readonly cut: () => void;
}

/** A driver whose statements fail before or after they ran, or lose their connection: between any two of them. */
export function faultyDriver(driver: Driver<unknown>, faults: StatementFaults): Driver<unknown> {
  const link = (): Link => {
    const real = driver.link();
    return {
      query: faulty(real.query, faults),
      transaction: (work) => around(faults, () => real.transaction((query) => work(faulty(query, faults)))),
      close: () => real.close(),
    };
  };
  return {
    link,
    transaction: (restMs, effect, complete) =>
      around(faults, () =>
        driver.transaction(restMs, effect, (query, result) => complete(faulty(query, faults), result)),
      ),
    listen: (channel, onNotify, onLost) => driver.listen(channel, onNotify, onLost),
  };
}

function faulty(query: Query, faults: StatementFaults): Query {
  return (text, params) => around(faults, () => (params ? query(text, params) : query(text)));
}

async function around<T>(faults: StatementFaults, work: () => Promise<T>): Promise<T> {
  const { random, rate, onFault, cut } = faults;
  const kind = random.chance(rate()) ? random.pick(['before', 'after', 'cut']) : 'none';
  if (kind !== 'none') onFault();
  if (kind === 'before') throw lost();
  if (kind === 'cut') cut();
  const answer = await work();
  if (kind === 'after') throw lost();
  return answer;
}

function lost(): Error {
  return Object.assign(new ConnectionLost('the connection was lost, on purpose'), { code: 'ECONNRESET' });
}
