import { event, type EventDefinition } from 'holdfast';
import { z } from 'zod';

const Id = z.string().min(1).max(120);

/** A canonical event: something that happened to a user, in whichever service. Each part is for one projector. */
export const GrowEvent = z.object({
  /** Two events with one key are one event. */
  dedupeKey: z.string().min(1).max(255),
  userId: Id,
  orgId: Id.optional(),
  requestId: Id.optional(),
  runId: Id.optional(),
  moduleId: Id.optional(),
  missionId: Id.optional(),
  missionInstanceId: Id.optional(),
  stageId: Id.optional(),
  occurredAt: z.iso.datetime(),
  signal: z.object({ signalId: Id, points: z.number().min(0).max(100) }).optional(),
  session: z.object({ serviceId: Id, externalId: Id, status: z.enum(['open', 'completed']) }).optional(),
  artifact: z.object({ serviceId: Id, externalId: Id, type: Id, title: z.string() }).optional(),
});

export type GrowEvent = z.infer<typeof GrowEvent>;

/** What happened. In the stream each stands with `grow.` before it. */
export const GROW_EVENT_NAMES = ['interview-completed', 'plan-drafted', 'document-published'] as const;

export type GrowEventName = (typeof GROW_EVENT_NAMES)[number];

/** Events of one user are handled in their order. */
export const growEvents: Readonly<Record<GrowEventName, EventDefinition<GrowEvent>>> = {
  'interview-completed': define('interview-completed'),
  'plan-drafted': define('plan-drafted'),
  'document-published': define('document-published'),
};

function define(name: GrowEventName): EventDefinition<GrowEvent> {
  return event(`grow.${name}`, {
    schema: GrowEvent,
    key: ({ userId }) => userId,
    aggregate: ({ userId }) => ({ type: 'user', id: userId }),
  });
}
