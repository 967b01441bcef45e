// The four drills of the growth backend; each starts the example for itself, on a database and streams of its own:
//   holdfast drill --all --config examples/growth-backend/drills.config.ts
import type { Drill } from 'holdfast/drills';
import { brokenCredentials } from './drills/broken-credentials.ts';
import { dependencyStopped } from './drills/dependency-stopped.ts';
import { duplicateEvents } from './drills/duplicate-events.ts';
import { replayDeadLetter } from './drills/replay-dead-letter.ts';

export const drills: readonly Drill[] = [dependencyStopped, duplicateEvents, brokenCredentials, replayDeadLetter];
