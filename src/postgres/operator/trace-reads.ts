import { checkTrace } from '../../operator/check-request.ts';
import { commandEntries } from '../../operator/command-timeline.ts';
import { factEntry, inOrder, messageEntries, recordEntry } from '../../operator/timeline.ts';
import {
  type CommandRow,
  type FactRow,
  idsOfCommand,
  idsOfFact,
  idsOfMessage,
  joinsOfCommand,
  joinsOfFact,
  joinsOfMessage,
  type MessageRow,
  type RecordRow,
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
import type { SqlRunner } from '../sql-runner.ts';
import { personCommandsStatement, personFactsStatement } from '../trace/statements.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** What belongs together is a few steps apart. Where it does not end, something else is wrong with the ids. */
const MAX_HOPS = 8;
/** How many ids are asked for at once. */
const MAX_ASKED = 2_000;
/** How many of the latest facts and commands of one person are followed. */
const LATEST_OF_A_PERSON = 100;
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
  readonly #commands = new Map<string, CommandRow>();
  readonly #records = new Map<string, RecordRow>();
  /** Whatever has one of these belongs to it. */
  readonly #ids = new Set<string>();
  /** Whose action it is, as far as that is known. */
  readonly #users = new Set<string>();
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
    return this.#messages.size + this.#facts.size + this.#commands.size + this.#records.size;
  }

  /** What goes by the id itself, as whatever it may be. */
  async begin(id: string): Promise<void> {
    const [own = id, message] = meaningsOf(id);
    this.#want(own);
    if (message !== undefined && isDeadLetterId(id)) this.#want(message);
    for (const fact of await this.#latestOf<FactRow>(id, personFactsStatement(this.#schema)))
      this.#keepFact(fact, 'user');
    for (const command of await this.#latestOf<CommandRow>(id, personCommandsStatement(this.#schema)))
      this.#keepCommand(command, 'user');
    this.#isOfPerson = !this.isEmpty;
    await this.#hop(own);
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
    // The steps of a command tell of its attempts.
    const own = [...this.#facts.values()].filter(
      ({ kind, fields }) => kind !== 'retry' || !this.#commands.has(String(fields['eventId'])),
    );
    const facts = own.map(factEntry);
    // Each failed attempt was recorded: the first one need not be told once more.
    const recorded = new Set(facts.filter(({ step }) => step === 'retry').map(attemptOf));
    const messages = [...this.#messages.values()].flatMap((message) =>
      messageEntries(message, now, this.#commands.has(message.id)),
    );
    const others = messages.filter((entry) => entry.step !== 'retry' || !recorded.has(attemptOf(entry)));
    const commands = [...this.#commands.values()].flatMap((command) =>
      commandEntries(command, this.#messages.get(command.id)),
    );
    const all = inOrder([...facts, ...[...this.#records.values()].map(recordEntry), ...commands, ...others]);
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
    const text = `select via, found from ${this.#schema}.trace_find($1::text::text[], $2::text::int, $3::text::text[])`;
    const meanings = wanted.map(meaningsOf);
    const asked = [...new Set(meanings.flatMap(([own = '']) => own))];
    const parts = [...new Set(meanings.flatMap(([, ...others]) => others))];
    const rows = await this.#sql.query(text, [asked, most, parts]);
    const found = new Map<string, string>();
    for (const row of rows) {
      if (row['via'] === 'fact') this.#addFact(readJson(row, 'found') as FactRow, start);
      else if (row['via'] === 'record') this.#keepRecord(readJson(row, 'found') as RecordRow, start);
      else found.set(String(row['found']), String(row['via']));
    }
    await this.#addCommands([...new Set([...asked, ...found.keys()])], parts, most, start);
    await this.#addMessages(
      [...found.keys()].filter((id) => !this.#messages.has(id)),
      start,
    );
  }

  #addFact(fact: FactRow, start: string | undefined): void {
    const shared = idsOfFact(fact).filter((id) => this.#ids.has(id));
    if (shared.length === 0) return;
    // Keys are chosen by clients: two people may use one.
    const isByKeyAlone = shared.every((id) => id === fact.fields['idempotencyKey']);
    if (start === undefined && isByKeyAlone && this.#isOfAnother(fact.userId)) return;
    this.#keepFact(fact, start === undefined ? undefined : fieldAs(fact.fields, start));
  }

  #keepFact(fact: FactRow, as: TracedAs | undefined): void {
    if (this.#facts.has(fact.id) || !this.#hasRoom()) return;
    this.#facts.set(fact.id, fact);
    if (fact.userId !== null) this.#users.add(fact.userId);
    if (as !== undefined) this.#as.add(as);
    for (const id of joinsOfFact(fact)) this.#want(isDeadLetterId(id) ? (meaningsOf(id)[1] ?? id) : id);
  }

  #keepRecord(record: RecordRow, start: string | undefined): void {
    if (!this.#ids.has(record.id) || !this.#hasRoom()) return;
    this.#records.set(record.id, record);
    if (record.id === start) this.#as.add('idempotency key');
  }

  async #addCommands(
    asked: readonly string[],
    parts: readonly string[],
    most: number,
    start: string | undefined,
  ): Promise<void> {
    const text = `select found
      from ${this.#schema}.trace_commands($1::text::text[], $2::text::int, $3::text::boolean, $4::text::text[])`;
    for (const row of await this.#sql.query(text, [asked, most, String(start !== undefined), parts])) {
      const command = readJson(row, 'found') as CommandRow;
      if (!idsOfCommand(command).some((id) => this.#ids.has(id))) continue;
      this.#keepCommand(command, start === undefined ? undefined : commandAs(command, start));
    }
  }

  #keepCommand(command: CommandRow, as: TracedAs | undefined): void {
    if (this.#commands.has(command.id) || !this.#hasRoom()) return;
    this.#commands.set(command.id, command);
    const { userId } = command.correlation;
    if (userId !== undefined) this.#users.add(userId);
    if (as !== undefined) this.#as.add(as);
    for (const id of joinsOfCommand(command)) this.#want(id);
  }

  async #addMessages(ids: readonly string[], start: string | undefined): Promise<void> {
    if (ids.length === 0) return;
    const text = `select found from ${this.#schema}.trace_messages($1::text::uuid[])`;
    for (const row of await this.#sql.query(text, [ids])) {
      const message = readJson(row, 'found') as MessageRow;
      // Found by the beginning of a long id, or by what only looked like a part of a key.
      if (!idsOfMessage(message).some((id) => this.#ids.has(id))) continue;
      if (!this.#hasRoom()) return;
      this.#messages.set(message.id, message);
      const as = start === undefined ? undefined : messageAs(message, start);
      if (as !== undefined) this.#as.add(as);
      for (const id of joinsOfMessage(message)) this.#want(id);
    }
  }

  #isOfAnother(userId: string | null): boolean {
    return userId !== null && this.#users.size > 0 && !this.#users.has(userId);
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
  async #latestOf<Row>(person: string, statement: string): Promise<readonly Row[]> {
    const most = Math.min(this.#limit, LATEST_OF_A_PERSON);
    const rows = await this.#sql.query(statement, [person, most + 1]);
    if (rows.length > most) this.#isCut = true;
    return rows.slice(0, most).map((row) => readJson(row, 'found') as Row);
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

/** As what a row goes by the id that was asked for; nothing where it was found through another. */
function fieldAs(fields: Readonly<Record<string, unknown>>, id: string): TracedAs | undefined {
  const name = Object.keys(fields).find((one) => fields[one] === id);
  return name === undefined ? undefined : (FACT_AS[name] ?? 'other');
}

function commandAs({ id, idempotencyKey, target, correlation }: CommandRow, start: string): TracedAs | undefined {
  return fieldAs({ ...correlation, runId: target, idempotencyKey, commandId: id }, start);
}

function messageAs(message: MessageRow, start: string): TracedAs | undefined {
  const { id, idempotencyKey, correlationId, causationId, arrivals } = message;
  if (isDeadLetterId(start)) return id === meaningsOf(start)[1] ? 'dead letter' : undefined;
  if (arrivals?.some(({ sourceId }) => sourceId === start)) return 'source id';
  const as = fieldAs({ correlationId, causationId, idempotencyKey, eventId: id }, start);
  // What it handed on is made of its key.
  return as ?? (joinsOfMessage(message).includes(start) ? 'idempotency key' : undefined);
}

/** The one message whose id begins so, or which there are. */
async function fromBeginning(sql: SqlRunner, schema: string, id: string, options: TraceOptions): Promise<Traced> {
  const range = idRange(id);
  if (range === undefined) return { kind: 'not-found' };
  const text = `select found from ${schema}.trace_prefix($1::text::uuid, $2::text::uuid, $3::text::int)`;
  const rows = await sql.query(text, [range.low, range.high, MAX_CANDIDATES + 1]);
  const candidates = rows.map((row) => readRecord<TraceCandidate>(readJson(row, 'found') as Fields, ['createdAt']));
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
