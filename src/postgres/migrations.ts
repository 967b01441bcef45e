import { breakerFunctions, breakerTable } from './schema/breaker.ts';
import { commandTables } from './schema/commands.ts';
import { deliveryTables } from './schema/delivery.ts';
import { endpointTables } from './schema/delivery-endpoints.ts';
import { scheduleTables } from './schema/delivery-schedules.ts';
import { enginePrivates } from './schema/engine.ts';
import { hotFunctions } from './schema/functions.ts';
import { idempotencyTable } from './schema/idempotency.ts';
import { messageTables } from './schema/messages.ts';
import { operateSurface } from './schema/operate.ts';
import { operatorSurface } from './schema/operator.ts';
import { sampleTables } from './schema/samples.ts';
import { messageReads } from './schema/reads.ts';
import { traceFunctions, traceTables } from './schema/trace.ts';

/** One step of the schema, forward only. Once released it never changes; a test compares what was released. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The oldest version whose release works on this one: what it can do without is added, and taken away by a later step. */
  readonly serves: number;
  /** The statements, for the schema whose quoted name is given. */
  readonly statements: (schema: string) => readonly string[];
}

/** All steps, in order. */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'outbox',
    serves: 1,
    statements: (schema) => [
      ...enginePrivates(schema),
      ...breakerTable(schema),
      ...messageTables(schema),
      ...traceTables(schema),
      ...hotFunctions(schema),
      ...idempotencyTable(schema),
      ...operatorSurface(schema),
      ...operateSurface(schema),
      ...commandTables(schema),
      ...breakerFunctions(schema),
      ...traceFunctions(schema),
      ...deliveryTables(schema),
      ...scheduleTables(schema),
      ...endpointTables(schema),
      ...messageReads(schema),
      ...sampleTables(schema),
    ],
  },
];
