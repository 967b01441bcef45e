import type { WebhookEndpointRecord, WebhookEndpoints } from '../delivery/webhook-endpoints.ts';
import { MOVED_ADVICE } from '../delivery/moved-delivery.ts';
import { HIDDEN } from '../kernel/secret-name.ts';
import { REDACTED } from './redaction.ts';
import type { ShownAnswer } from './shown-answer.ts';

type Headers = Readonly<Record<string, string>>;
type Refused = { readonly kind: 'refused'; readonly message: string };

/**
 * Endpoints as they are changed by somebody who does not see all of them: what is sent back as it was shown stays as it is, what stands for a
 * hidden value is never stored, and hidden headers do not go to another URL.
 */
export function redactedEndpoints(endpoints: WebhookEndpoints, shown: ShownAnswer): WebhookEndpoints {
  return {
    ...endpoints,
    create: async (input, by) => placeholderIn(input.url, input.headers ?? {}) ?? endpoints.create(input, by),
    update: async (id, change, by) => {
      const known = await endpoints.get(id);
      if (known === undefined) return { kind: 'not-found' };
      const seen = shown.of(known);
      const url = change.url === seen.url ? undefined : change.url;
      const { headers, kept } = headersOf(change.headers, seen, known);
      const problem = placeholderIn(url ?? '', change.headers ? (headers ?? {}) : {});
      if (problem) return problem;
      if (url !== undefined && url !== known.url && kept) {
        return refused(`url is changed while headers of it are hidden: ${MOVED_ADVICE}`);
      }
      return endpoints.update(id, { ...change, url, headers }, by);
    },
  };
}

/** Headers as they are to be, and whether there is a hidden one among them. */
function headersOf(
  given: Headers | null | undefined,
  seen: WebhookEndpointRecord,
  known: WebhookEndpointRecord,
): { readonly headers: Headers | null | undefined; readonly kept: boolean } {
  const isHidden = (name: string): boolean => seen.headers[name] !== known.headers[name];
  if (given === undefined) return { headers: given, kept: Object.keys(known.headers).some(isHidden) };
  if (given === null) return { headers: given, kept: false };
  const left = Object.keys(given).filter((name) => isHidden(name) && given[name] === seen.headers[name]);
  const whole = Object.fromEntries(left.map((name) => [name, known.headers[name] ?? '']));
  return { headers: { ...given, ...whole }, kept: left.length > 0 };
}

/** What stands for a hidden value is none. */
function placeholderIn(url: string, headers: Headers): Refused | undefined {
  if (isPlaceholder(url)) return refused('url holds what is shown in the place of a secret: write the whole URL');
  const name = Object.keys(headers).find((one) => isPlaceholder(headers[one] ?? ''));
  if (name === undefined) return undefined;
  return refused(`the header ${JSON.stringify(name)} is what is shown in the place of a secret: write its value`);
}

function isPlaceholder(text: string): boolean {
  return text.includes(HIDDEN) || text.includes(REDACTED);
}

function refused(message: string): Refused {
  return { kind: 'refused', message };
}
