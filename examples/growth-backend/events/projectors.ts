import { exponential, type Holdfast, type HandlerOptions, policy } from 'holdfast';
import type { PoolClient } from 'pg';
import { growEvents } from './grow-event.ts';
import { projectArtifact } from './project-artifact.ts';
import { projectMissionStage } from './project-mission-stage.ts';
import { projectScore } from './project-score.ts';
import { projectSession } from './project-session.ts';
import { record } from './record.ts';

/** The names that `events:replay --projectors` and `holdfast.run_log` know them by. */
export const PROJECTORS = ['qscore', 'service-session', 'artifact', 'mission-stage'] as const;

/**
 * The record of events and the four projectors. Each has every event once and is tried by itself: when one fails, the others are done,
 * and only that one is replayed. They may run again for what they have handled: their rows have keys of their own.
 */
export function registerProjectors(hf: Holdfast<PoolClient>, speed: number): void {
  const options: HandlerOptions = {
    policy: policy({ maxAttempts: 4, schedule: exponential({ baseMs: 500 / speed, maxMs: 30_000 / speed }) }),
    repeatable: true,
    // One event that cannot be projected holds up no other of its user: what an event leads to does not depend on their order.
    onDead: 'pass',
  };
  const events = Object.values(growEvents);
  hf.project(events, 'record', record, options);
  hf.project(events, 'qscore', projectScore, options);
  hf.project(events, 'service-session', projectSession, options);
  hf.project(events, 'artifact', projectArtifact, options);
  hf.project(events, 'mission-stage', projectMissionStage, options);
}
