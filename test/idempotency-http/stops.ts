import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { AtomicIdempotencyStore, Claim, IdempotencyStore } from '../../src/idempotency/index.ts';
import { personId } from '../../src/idempotency/record-id.ts';
import type { Effects } from '../../src/kernel/effects.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { type Step, type StepServerLine, STEPS } from './steps.ts';

/** The service of all servers whose requests stop. */
export const SERVICE = 'shop';

const STEP_OF = new Map<string | null, Step>(STEPS.map((step) => [personId(SERVICE, step), step]));

interface Timer {
  handle?: NodeJS.Timeout;
  isCleared: boolean;
}

/** Tells the parent. A pipe is written at once, so that nothing which was told can be lost. */
export function say(line: StepServerLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/**
 * Holds requests of this process where they ask for it, until the parent says that all may go on: from then on none is held. The
 * process ends with its parent.
 */
export class Stops {
  #isOn: boolean;
  #waiting: (() => void)[] = [];

  constructor(isOn: boolean) {
    this.#isOn = isOn;
    const lines = createInterface({ input: process.stdin });
    lines.on('line', () => {
      this.#isOn = false;
      for (const go of this.#waiting.splice(0)) go();
    });
    void once(lines, 'close').then(() => process.exit(0));
  }

  /** Stops here if this is the step that is `wanted`. */
  async at(step: Step, route: string, wanted: string | undefined): Promise<void> {
    if (!this.#isOn || step !== wanted) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      say({ route, step });
    });
  }

  /** Real ones, but that the time of store calls is not measured as long as requests are held. */
  effects(storeTimeoutMs: number): Effects {
    return {
      ...systemEffects,
      setTimer: (wake, ms) => {
        const timer: Timer = { isCleared: false };
        const isHeld = (): boolean => this.#isOn && ms === storeTimeoutMs;
        const arm = (): void => {
          if (timer.isCleared) return;
          timer.handle = setTimeout(() => (isHeld() ? void this.#waiting.push(arm) : wake()), ms);
        };
        arm();
        return timer;
      },
      clearTimer: (timer) => {
        if (timer === undefined) return;
        (timer as Timer).isCleared = true;
        clearTimeout((timer as Timer).handle);
      },
    };
  }

  /** The same store, which stops before and after what it does for those who named that step as their person. */
  store(route: string, store: IdempotencyStore): IdempotencyStore {
    const at = this.#forClaims(route);
    return {
      ...store,
      claim: async (claim) => {
        await at('before-claim', claim);
        const answer = await store.claim(claim);
        await at('after-claim', claim);
        return answer;
      },
      end: async (claim, end) => {
        await at('before-end', claim);
        await at('streamed', claim);
        const answer = await store.end(claim, end);
        await at('after-end', claim);
        return answer;
      },
    };
  }

  atomicStore<Tx>(route: string, store: AtomicIdempotencyStore<Tx>): AtomicIdempotencyStore<Tx> {
    const at = this.#forClaims(route);
    return {
      ...this.store(route, store),
      transaction: (work) => store.transaction(work),
      commit: async (claim, work) => {
        const answer = await store.commit(claim, async (tx) => {
          const made = await work(tx);
          await at('before-end', claim);
          return made;
        });
        await at('after-end', claim);
        return answer;
      },
    };
  }

  #forClaims(route: string): (step: Step, claim: Claim) => Promise<void> {
    return (step, { person }) => this.at(step, route, STEP_OF.get(person));
  }
}
