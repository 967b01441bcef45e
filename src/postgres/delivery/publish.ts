import { type FlowRules, storedFlowKey } from '../../delivery/delivery-request.ts';
import type {
  Published,
  Publishing,
  PublishOutcome,
  PublishRefusal,
  PublishRequest,
  UrlGroupEndpoint,
} from '../../delivery/publishing.ts';
import { storedName } from '../../delivery/tenants.ts';
import type { NewMessage } from '../../outbox/outbox-store.ts';
import { messageInput } from '../fan-out.ts';
import type { SqlRunner } from '../sql-runner.ts';
import {
  bodyBytes,
  callbackProblem,
  headBytes,
  type MadeMessage,
  makeMessages,
  type PublishLimits,
  type SharedBody,
  storable,
} from './make-messages.ts';

/** What publishing is told by the server's settings. */
export interface PublishRules extends PublishLimits {
  /** How long an id or a content is remembered. */
  readonly dedupMs: number;
}

const FULL: PublishRefusal = {
  kind: 'refused',
  why: 'full',
  message: 'too many messages wait to be delivered; publish again later, or raise maxPending of the server',
};

/** Taking messages in: one round trip, and one more where a URL group is named. */
export function publishing(sql: SqlRunner, schema: string, rules: PublishRules): Publishing {
  const publishCall = `select ${schema}.http_publish($1::text, $2::text, $3::text::boolean, $4::text::float8, $5::text, $6::text::jsonb) as known`;
  return {
    publish: async (requests, by) => {
      const groups = await groupsOf(sql, schema, requests);
      if (isTooMuch(requests, groups, rules)) return requests.map(() => tooMuch(rules));
      const bodies = new SharedBodies();
      const made = requests.map((request) => {
        const endpoints = groups.get(groupOf(request) ?? '');
        const problem = callbackProblem(request.delivery, rules);
        return problem ?? makeMessages(request, endpoints, rules, endpoints && bodies.add(request.delivery));
      });
      const all = made.flatMap((one) => ('kind' in one ? [] : one.map(({ message }) => message)));
      if (all.length === 0) return made as readonly PublishRefusal[];
      const firstOf = firstOfEachKey(all);
      const input = messageInput(
        all.filter(({ id, idempotencyKey }) => (firstOf.get(idempotencyKey ?? '') ?? id) === id),
      );
      const about = placesOf(requests.filter((_, at) => !('kind' in (made[at] ?? FULL))));
      const [row] = await sql.query(publishCall, [
        input,
        about,
        firstOf.size > 0,
        rules.dedupMs,
        by?.actor ?? null,
        bodies.text,
      ]);
      const text = row?.['known'];
      if (typeof text !== 'string') return made.map((one) => ('kind' in one ? one : FULL));
      const known = new Map(Object.entries(JSON.parse(text) as Record<string, string>));
      return made.map((one, at) => ('kind' in one ? one : outcomeOf(one, requests[at], firstOf, known)));
    },
  };
}

/** The bodies of groups, each once, as `http_publish` reads them. */
class SharedBodies {
  readonly #texts: string[] = [];

  /** Null: there is none. */
  get text(): string | null {
    return this.#texts.length === 0 ? null : `[${this.#texts.join(',')}]`;
  }

  add(delivery: PublishRequest['delivery']): SharedBody {
    const { body, bodyBase64 } = storable(delivery);
    const bytes = bodyBytes({ body, bodyBase64 });
    return { at: this.#texts.push(JSON.stringify({ body, bodyBase64 })) - 1, bytes };
  }
}

/** All that a message has besides its body, and what the database adds to it. */
const ROW_BYTES = 1_000;
/** Of all messages of a call, besides their bodies: these are made one by one here. */
const MOST_HEADS_BYTES = 33_554_432;

/** What would be stored is known before any of it is made. */
function isTooMuch(
  requests: readonly PublishRequest[],
  groups: ReadonlyMap<string, readonly UrlGroupEndpoint[]>,
  { maxPublishBytes }: PublishLimits,
): boolean {
  let bodies = 0;
  let heads = 0;
  for (const request of requests) {
    const count = request.to.kind === 'url' ? 1 : (groups.get(groupOf(request) ?? '')?.length ?? 0);
    bodies += count * bodyBytes(request.delivery);
    heads += count * (headBytes(request.delivery) + ROW_BYTES);
  }
  return bodies > maxPublishBytes || heads > MOST_HEADS_BYTES;
}

function tooMuch({ maxPublishBytes }: PublishLimits): PublishRefusal {
  return {
    kind: 'refused',
    why: 'too-much',
    message: `the bodies of one call may have at most ${maxPublishBytes} bytes in all, that of a URL group counted for each endpoint, and their headers ${MOST_HEADS_BYTES}; send it in several calls, or put the body where it can be fetched`,
  };
}

function outcomeOf(
  made: readonly MadeMessage[],
  request: PublishRequest | undefined,
  firstOf: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, string>,
): PublishOutcome {
  const messages = made.map(({ message: { id, idempotencyKey }, url }): Published => {
    const first = firstOf.get(idempotencyKey ?? '') ?? id;
    const messageId = known.get(first) ?? first;
    return { messageId, url, isDuplicate: messageId !== id };
  });
  return { kind: 'published', to: request?.to.kind ?? 'url', messages };
}

/** Of two in one call with the same key the first is stored, and the second is its duplicate. */
function firstOfEachKey(messages: readonly NewMessage[]): ReadonlyMap<string, string> {
  const firstOf = new Map<string, string>();
  for (const { idempotencyKey, id } of messages) {
    if (idempotencyKey !== undefined && !firstOf.has(idempotencyKey)) firstOf.set(idempotencyKey, id);
  }
  return firstOf;
}

export function groupOf({ to, delivery }: Pick<PublishRequest, 'to' | 'delivery'>): string | undefined {
  return to.kind === 'group' ? storedName(delivery.tenant, to.name) : undefined;
}

/** The endpoints of the groups that are named, by the names under which they are stored. */
export async function groupsOf(
  sql: SqlRunner,
  schema: string,
  requests: readonly Pick<PublishRequest, 'to' | 'delivery'>[],
): Promise<ReadonlyMap<string, readonly UrlGroupEndpoint[]>> {
  const names = new Set(requests.map(groupOf).filter((name) => name !== undefined));
  if (names.size === 0) return new Map();
  const text = `select name, endpoints::text as endpoints from ${schema}.http_group
    where name in (select json_array_elements_text($1::text::json))`;
  const rows = await sql.query(text, [JSON.stringify([...names])]);
  return new Map(
    rows.map((row) => [String(row['name']), JSON.parse(String(row['endpoints'])) as readonly UrlGroupEndpoint[]]),
  );
}

/** The queues and flow-control keys of what is published, as `http_note` reads them; null: none. Of several limits the last are meant. */
export function placesOf(requests: readonly PublishRequest[]): string | null {
  const queues = new Set<string>();
  const flows = new Map<string, FlowRules | undefined>();
  for (const { delivery, flow } of requests) {
    if (delivery.queue !== undefined) queues.add(storedName(delivery.tenant, delivery.queue));
    const key = storedFlowKey({ endpointId: undefined, ...delivery });
    if (key !== undefined) flows.set(key, flow ?? flows.get(key));
  }
  if (queues.size === 0 && flows.size === 0) return null;
  const rows = [...flows].map(([key, rules]) => ({
    key,
    parallelism: rules?.parallelism,
    rate: rules?.rate,
    period_ms: rules?.rate === undefined ? undefined : (rules.periodMs ?? DEFAULT_PERIOD_MS),
  }));
  return JSON.stringify({ queues: [...queues], flows: rows });
}

/** A rate without a period is one a second. */
export const DEFAULT_PERIOD_MS = 1_000;
