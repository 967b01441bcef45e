import { factEntry, inOrder, messageEntries } from '../../operator/timeline.ts';
import {
  type FactRow,
  idsOfFact,
  idsOfMessage,
  joinsOfFact,
  joinsOfMessage,
  type MessageRow,
} from '../../operator/trace-rows.ts';
import {
  DEFAULT_TRACE_LIMIT,
  idRange,
  isDeadLetterId,
  meaningsOf,
  type TraceCandidate,
  type Traced,
  type TracedAs,
  type TraceEntry,
  traceIdProblem,
  type TraceOptions,
} from '../../operator/trace.ts';
import { checkTrace } from '../../operator/check-request.ts';
import { factJson } from '../schema/trace.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** What belongs together is a few steps apart. Where it does not end, something else is wrong with the ids. */
const MAX_HOPS = 8;
/** How many ids are asked for at once. */
const MAX_ASKED = 2_000;
/** How many of the latest actions of one person are followed. */
const ACTIONS_OF_A_PERSON = 20;
const MAX_CANDIDATES = 10;

/** The timeline of whatever goes by this id. */
export async function traceId(sql: SqlRunner, schema: string, id: string, options: TraceOptions): Promise<Traced> {
  const problem = traceIdProblem(id);
  if (problem !== undefined) return { kind: 'bad-id', problem };
  checkTrace(options);
  const limit = options.limit ?? DEFAULT_TRACE_LIMIT;
  const asked = id.trim();
  const search = new Search(sql, schema, limit);
  await search.begin(asked);
  await search.follow();
  if (search.isEmpty) return fromBeginning(sql, schema, asked, options);
  const at = await databaseTime(sql);
  return { kind: 'trace', id: asked, as: search.as, at, ...search.timeline(at) };
}

/** What was found so far, and which ids are still to be asked for. */
class Search {
  readonly #sql: SqlRunner;
  readonly #schema: string;
  readonly #limit: number;
  readonly #messages = new Map<string, MessageRow>();
  readonly #facts = new Map<string, FactRow>();
  /** Whatever has one of these belongs to it. */
  readonly #ids = new Set<string>();
  #next = new Set<string>();
  #as = new Set<TracedAs>();
  #isCut = false;
  #isOfPerson = false;

  constructor(sql: SqlRunner, schema: string, limit: number) {
    this.#sql = sql;
    this.#schema = schema;
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  get as(): readonly TracedAs[] {
    return this.#as.size === 0 ? ['other'] : [...this.#as];
  }

  get #size(): number {
    return this.#messages.size + this.#facts.size;
  }

  /** What goes by the id itself, as whatever it may be. */
  async begin(id: string): Promise<void> {
    const [own = id, message] = meaningsOf(id);
    this.#want(own);
    if (message !== undefined && isDeadLetterId(id)) this.#want(message);
    for (const fact of await this.#factsOfPerson(id)) this.#add('user', fact);
    this.#isOfPerson = !this.isEmpty;
    await this.#hop(id);
  }

  /** What belongs to what was found, and so on. */
  async follow(): Promise<void> {
    for (let hop = 1; this.#next.size > 0; hop += 1) {
      if (hop >= MAX_HOPS || this.#size >= this.#limit) {
        this.#isCut = true;
        return;
      }
      await this.#hop(undefined);
    }
  }

  timeline(now: Date): { readonly entries: readonly TraceEntry[]; readonly isCut: boolean } {
    const facts = [...this.#facts.values()].map(factEntry);
    // Each failed attempt was recorded: the first one need not be told once more.
    const recorded = new Set(facts.filter(({ step }) => step === 'retry').map(attemptOf));
    const messages = [...this.#messages.values()].flatMap((message) => messageEntries(message, now));
    const others = messages.filter((entry) => entry.step !== 'retry' || !recorded.has(attemptOf(entry)));
    const all = inOrder([...facts, ...others]);
    const isCut = this.#isCut || all.length > this.#limit;
    // A story is told from its beginning; of a person the latest is what is asked for.
    return { entries: this.#isOfPerson ? all.slice(-this.#limit) : all.slice(0, this.#limit), isCut };
  }

  /** `start` is the id that was asked for, at the first hop. */
  async #hop(start: string | undefined): Promise<void> {
    const wanted = [...this.#next].slice(0, MAX_ASKED);
    if (wanted.length < this.#next.size) this.#isCut = true;
    this.#next = new Set();
    const most = this.#limit - this.#size + 1;
    const text = `select via, found from ${this.#schema}.trace_find($1::text::text[], $2::text::int)`;
    const rows = await this.#sql.query(text, [[...new Set(wanted.flatMap(meaningsOf))], most]);
    const found = new Map<string, string>();
    for (const row of rows) {
      if (row['via'] === 'fact') this.#addFact(readJson(row, 'found') as FactRow, start);
      else found.set(String(row['found']), String(row['via']));
    }
    await this.#addMessages(
      [...found.keys()].filter((id) => !this.#messages.has(id)),
      start,
    );
  }

  #addFact(fact: FactRow, start: string | undefined): void {
    if (!idsOfFact(fact).some((id) => this.#ids.has(id))) return;
    this.#add(start === undefined ? undefined : factAs(fact, start), fact);
  }

  #add(as: TracedAs | undefined, fact: FactRow): void {
    if (this.#facts.has(fact.id)) return;
    if (!this.#hasRoom()) return;
    this.#facts.set(fact.id, fact);
    if (as !== undefined) this.#as.add(as);
    for (const id of joinsOfFact(fact)) this.#want(isDeadLetterId(id) ? (meaningsOf(id)[1] ?? id) : id);
  }

  async #addMessages(ids: readonly string[], start: string | undefined): Promise<void> {
    if (ids.length === 0) return;
    const text = `select message from ${this.#schema}.trace_messages($1::text::uuid[])`;
    for (const row of await this.#sql.query(text, [ids])) {
      const message = readJson(row, 'message') as MessageRow;
      // Found by the beginning of a long id, or by what only looked like a part of a key.
      if (!idsOfMessage(message).some((id) => this.#ids.has(id))) continue;
      if (!this.#hasRoom()) return;
      this.#messages.set(message.id, message);
      if (start !== undefined) this.#as.add(messageAs(message, start));
      for (const id of joinsOfMessage(message)) this.#want(id);
    }
  }

  #hasRoom(): boolean {
    if (this.#size < this.#limit) return true;
    this.#isCut = true;
    return false;
  }

  #want(id: string): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.#next.add(id);
  }

  /** The latest first. Asked for at the beginning only: nothing is joined through a person. */
  async #factsOfPerson(id: string): Promise<readonly FactRow[]> {
    const text = `select ${factJson('f')} as fact from ${this.#schema}.fact f where f.user_id = $1::text
      order by f.id desc limit $2::text::int`;
    const most = Math.min(this.#limit, ACTIONS_OF_A_PERSON);
    const rows = await this.#sql.query(text, [id, most + 1]);
    if (rows.length > most) this.#isCut = true;
    return rows.slice(0, most).map((row) => readJson(row, 'fact') as FactRow);
  }
}

function attemptOf({ what, attempt, ids }: TraceEntry): string {
  return JSON.stringify([what, attempt, ids['eventId']]);
}

const FACT_AS: Readonly<Record<string, TracedAs>> = {
  requestId: 'request',
  idempotencyKey: 'idempotency key',
  recordId: 'idempotency key',
  eventId: 'event',
  commandId: 'command',
  runId: 'run',
  actorKey: 'run',
  dlqId: 'dead letter',
  correlationId: 'correlation',
  causationId: 'correlation',
  traceId: 'correlation',
};

function factAs({ fields }: FactRow, id: string): TracedAs {
  const name = Object.keys(FACT_AS).find((one) => fields[one] === id);
  return (name === undefined ? undefined : FACT_AS[name]) ?? 'other';
}

function messageAs(message: MessageRow, id: string): TracedAs {
  if (isDeadLetterId(id)) return 'dead letter';
  if (message.id === id.toLowerCase()) return 'event';
  if (message.idempotencyKey === id) return 'idempotency key';
  if (message.arrivals?.some(({ sourceId }) => sourceId === id)) return 'source id';
  return message.correlationId === id || message.causationId === id ? 'correlation' : 'idempotency key';
}

/** The one message whose id begins so, or which there are. */
async function fromBeginning(sql: SqlRunner, schema: string, id: string, options: TraceOptions): Promise<Traced> {
  const range = idRange(id);
  if (range === undefined) return { kind: 'not-found' };
  const text = `select message from ${schema}.trace_prefix($1::text::uuid, $2::text::uuid, $3::text::int)`;
  const rows = await sql.query(text, [range.low, range.high, MAX_CANDIDATES + 1]);
  const candidates = rows.map((row) => readRecord<TraceCandidate>(readJson(row, 'message') as Fields, ['createdAt']));
  const [first, second] = candidates;
  if (first === undefined) return { kind: 'not-found' };
  if (second === undefined) return traceId(sql, schema, first.id, options);
  const isCut = candidates.length > MAX_CANDIDATES;
  return { kind: 'ambiguous', candidates: candidates.slice(0, MAX_CANDIDATES), isCut };
}

async function databaseTime(sql: SqlRunner): Promise<Date> {
  const [row] = await sql.query(`select to_json(clock_timestamp()) #>> '{}' as at`);
  return new Date(String(row?.['at']));
}
