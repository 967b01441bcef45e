import type { CheckFinding, Examination } from '../../postgres/doctor/finding.ts';
import type { Database } from '../database.ts';
import type { Io } from '../io.ts';

/** What a check may use that is made from here. */
export interface LocalExamination extends Examination {
  readonly io: Io;
  readonly database: Database;
}

/** Looks at one thing. What it throws is shown as a problem. */
export type Check = (examination: LocalExamination) => Promise<CheckFinding | readonly CheckFinding[]>;
