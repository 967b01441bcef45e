import type { ContractCase } from './contract-harness.ts';
import { ContractKit } from './contract-kit.ts';

type Body = <Tx>(kit: ContractKit<Tx>) => Promise<void>;

/** A case that works with one transaction at a time. */
export function promise(name: string, body: Body): ContractCase {
  return makeCase(name, false, body);
}

/** A case with transactions that overlap. */
export function promiseOfOverlap(name: string, body: Body): ContractCase {
  return makeCase(name, true, body);
}

function makeCase(name: string, needsOverlap: boolean, body: Body): ContractCase {
  return {
    name,
    needsOverlap,
    async run(harness) {
      const kit = new ContractKit(harness);
      try {
        await body(kit);
      } finally {
        await kit.close();
      }
    },
  };
}
