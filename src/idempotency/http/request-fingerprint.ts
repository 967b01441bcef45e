import { sha256 } from '../../system/sha256.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { BodyFacts, RequestFacts } from './request-facts.ts';

// A record that was written by another version of these rules is not compared with them by accident.
const VERSION = '2.';

/**
 * A digest of what a request asks for: method, path, query in any order, the body however it was written, and chosen headers. Secrets
 * count as everything else does, so it is never stored: a record has the keyed digest of it (`recordFingerprint`). The person is not
 * in it, but in the id of the record. `undefined` when the body is nested too deeply to be compared.
 */
export function requestFingerprint(
  facts: Pick<RequestFacts, 'method' | 'path' | 'query' | 'header'>,
  body: Exclude<BodyFacts, { kind: 'too-large' }>,
  headerNames: readonly string[],
): string | undefined {
  const content = contentOf(body);
  if (content === undefined) return undefined;
  const headers = headerNames.map((name) => [name, ...facts.header(name)]);
  const [kind, text] = content;
  // A JSON text has no line break: what is before the first one and what is after it can be told apart.
  return (
    VERSION + sha256(`${JSON.stringify([facts.method, facts.path, queryOf(facts.query), headers, kind])}\n${text}`)
  );
}

function queryOf(query: string): readonly (readonly [string, string])[] {
  if (query.length <= 1) return [];
  return [...new URLSearchParams(query)].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

function contentOf(body: Exclude<BodyFacts, { kind: 'too-large' }>): readonly [kind: string, text: string] | undefined {
  switch (body.kind) {
    case 'none':
      return ['none', ''];
    case 'bytes':
      return ['bytes', sha256(body.bytes)];
    case 'parsed': {
      const text = canonicalJson(body.value);
      return text === undefined ? undefined : ['parsed', text];
    }
  }
}
