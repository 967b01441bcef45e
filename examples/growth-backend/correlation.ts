import type { LogFields } from 'holdfast';

/** What tells which action something belongs to. Messages carry it as headers of the same names, lines of the log as fields. */
const FIELDS = [
  'requestId',
  'traceId',
  'userId',
  'orgId',
  'actorType',
  'actorKey',
  'runId',
  'moduleId',
  'missionId',
  'missionInstanceId',
  'stageId',
] as const;

/** Of what is known about something, what tells which action it belongs to. */
export function correlationOf(about: object = {}): Readonly<Record<string, string>> {
  const values = new Map<string, unknown>(Object.entries(about));
  return Object.fromEntries(
    FIELDS.flatMap((field) => {
      const value = values.get(field);
      return typeof value === 'string' && value !== '' ? [[field, value]] : [];
    }),
  );
}

/** Without what is not known. */
export function known(fields: Readonly<Record<string, unknown>>): LogFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
