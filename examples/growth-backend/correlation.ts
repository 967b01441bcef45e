import type { LogFields } from 'holdfast';

/** What tells which action something belongs to, and the header of a message that carries it. */
const HEADERS = {
  requestId: 'request-id',
  userId: 'user-id',
  orgId: 'org-id',
  runId: 'run-id',
  moduleId: 'module-id',
  missionId: 'mission-id',
  missionInstanceId: 'mission-instance-id',
  stageId: 'stage-id',
} as const;

/** The action that something belongs to, as far as it is known. */
export type Correlation = { readonly [Field in keyof typeof HEADERS]?: string };

const FIELDS = Object.keys(HEADERS) as (keyof typeof HEADERS)[];

/** The headers of a message that belongs to an action. */
export function toHeaders(about: { readonly [Field in keyof Correlation]?: string | undefined }): Record<
  string,
  string
> {
  return Object.fromEntries(
    FIELDS.flatMap((field) => (about[field] === undefined ? [] : [[HEADERS[field], about[field]]])),
  );
}

/** The action that a message with these headers belongs to. */
export function fromHeaders(headers: Readonly<Record<string, string>> = {}): Correlation {
  return known(Object.fromEntries(FIELDS.map((field) => [field, headers[HEADERS[field]]])));
}

/** Without what is not known. */
export function known(fields: Readonly<Record<string, unknown>>): LogFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
