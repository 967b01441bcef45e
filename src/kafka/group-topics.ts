import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { ConsumeRequest } from '../transport/broker.ts';
import type { KafkaConsumer, TopicMetadata } from './kafka-library.ts';
import { closedIn } from './refusal.ts';
import { metadataOf } from './topic-metadata.ts';

/** How often it is looked whether what was missing or closed is there. */
const LOOK_MS = 2_000;

/** The topics of a group: those that are read, and those that are missing or closed to it and are looked for again. */
export class GroupTopics {
  readonly #asker: KafkaConsumer;
  readonly #tell: ConsumeRequest['onPlace'];
  readonly #effects: Effects;
  #missing: readonly string[];
  #there: readonly string[] = [];
  /** Those that are there but may not be read, and when that is tried again. */
  readonly #closed = new Map<string, number>();
  #isLooking = false;
  #lookedMs: number;

  constructor(asker: KafkaConsumer, topics: readonly string[], tell: ConsumeRequest['onPlace'], effects: Effects) {
    this.#asker = asker;
    this.#missing = topics;
    this.#tell = tell;
    this.#effects = effects;
    this.#lookedMs = effects.monoMs();
  }

  /** Those that are there. */
  get there(): string[] {
    return [...this.#there];
  }

  /** Those that are there and may be read, as far as is known. */
  isOpen(topic: string): boolean {
    return (this.#closed.get(topic) ?? 0) <= this.#effects.monoMs();
  }

  /** Looks for all of them. Rejects with `KAFKA_TOPIC_REFUSED` where there is none. */
  async find(): Promise<void> {
    const [problem] = await this.#look();
    if (this.#there.length === 0 && problem) throw problem;
  }

  /** Looks from time to time for those that are missing, beside what else is done. */
  lookAgain(): void {
    if (this.#isLooking || this.#missing.length === 0 || this.#effects.monoMs() - this.#lookedMs < LOOK_MS) return;
    this.#isLooking = true;
    const end = (): void => {
      this.#isLooking = false;
      this.#lookedMs = this.#effects.monoMs();
    };
    // A broker that cannot be asked is noticed by whoever reads.
    void this.#look().then(end, end);
  }

  /** Sets those aside that an error of a fetch says may not be read. False: it is another error, or none would be left. */
  close(error: unknown, names: ReadonlyMap<string, string>): boolean {
    const refusals = closedIn(error, names);
    const isLeft = this.#there.some((topic) => !refusals.has(topic) && !this.#closed.has(topic));
    if (refusals.size === 0 || !isLeft) return false;
    for (const [topic, refusal] of refusals) {
      this.#closed.set(topic, this.#effects.monoMs() + LOOK_MS);
      this.#tell(topic, refusal);
    }
    return true;
  }

  /** What was fetched is open. */
  noteFetched(topics: Iterable<string>): void {
    for (const topic of topics) if (this.#closed.delete(topic)) this.#tell(topic, undefined);
  }

  async #look(): Promise<readonly HoldfastError[]> {
    const known = await metadataOf(this.#asker, this.#missing);
    const refused = [...known].filter((one): one is [string, HoldfastError] => one[1] instanceof HoldfastError);
    const found = [...known].filter((one): one is [string, TopicMetadata] => !(one[1] instanceof HoldfastError));
    this.#missing = refused.map(([topic]) => topic);
    this.#there = [...this.#there, ...found.map(([topic]) => topic)];
    for (const [topic] of found) this.#tell(topic, undefined);
    // Where none is there, that is told by whoever asked.
    if (this.#there.length > 0) for (const [topic, refusal] of refused) this.#tell(topic, refusal);
    return refused.map(([, refusal]) => refusal);
  }
}
