import type { Command } from './command.ts';
import { audit } from './commands/audit.ts';
import { dev } from './commands/dev.ts';
import { doctor } from './commands/doctor.ts';
import { dlqDiscard } from './commands/dlq-discard.ts';
import { dlqEdit } from './commands/dlq-edit.ts';
import { dlqImport } from './commands/dlq-import.ts';
import { dlqList } from './commands/dlq-list.ts';
import { dlqPeek } from './commands/dlq-peek.ts';
import { dlqReplay } from './commands/dlq-replay.ts';
import { dlqShow } from './commands/dlq-show.ts';
import { drill } from './commands/drill.ts';
import { eventsReplay } from './commands/events-replay.ts';
import { handlers } from './commands/handlers.ts';
import { keys } from './commands/keys.ts';
import { migrate } from './commands/migrate.ts';
import { outboxCancel } from './commands/outbox-cancel.ts';
import { outboxStats } from './commands/outbox-stats.ts';
import { pause, resume } from './commands/pause.ts';
import { relay } from './commands/relay.ts';
import { serve } from './commands/serve.ts';
import { runShow } from './commands/run-show.ts';
import { trace } from './commands/trace.ts';
import { why } from './commands/why.ts';

/** Every command, in the order the help lists them. */
export const COMMANDS: readonly Command[] = [
  migrate,
  outboxStats,
  outboxCancel,
  dlqPeek,
  dlqList,
  dlqShow,
  dlqReplay,
  dlqEdit,
  dlqDiscard,
  dlqImport,
  eventsReplay,
  why,
  trace,
  runShow,
  keys,
  handlers,
  pause,
  resume,
  audit,
  relay,
  serve,
  dev,
  drill,
  doctor,
];
