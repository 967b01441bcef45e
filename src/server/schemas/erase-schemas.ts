import type { Erasure, ErasureCounts } from '../../operator/erasure.ts';
import { integer, kinds, list, object, oneOf, optional, type Schema, text, time } from '../schema.ts';

export const ERASURE_COUNTS: Schema<ErasureCounts> = object<ErasureCounts>({
  messages: integer,
  open: integer,
  commands: integer,
  facts: integer,
  idempotencyRecords: integer,
});

const ERASURE: Schema<Erasure> = object<Erasure>({
  id: text,
  state: oneOf('running', 'done'),
  by: oneOf('person', 'payload'),
  mark: text,
  counts: ERASURE_COUNTS,
  actor: text,
  reason: text,
  createdAt: time,
  endedAt: optional(time),
});

export const ERASURES: Schema<readonly Erasure[]> = list(ERASURE);

export const ERASING: Schema<{ readonly kind: 'erasing'; readonly erasure: Erasure }> = kinds<{
  readonly kind: 'erasing';
  readonly erasure: Erasure;
}>({ erasing: { erasure: ERASURE } });
