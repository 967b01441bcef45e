import type { Command } from './command.ts';
import { audit } from './commands/audit.ts';
import { breakers } from './commands/breakers.ts';
import { bulk } from './commands/bulk.ts';
import { completion } from './commands/completion.ts';
import { destinations } from './commands/destinations.ts';
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
import { endpoints } from './commands/endpoints.ts';
import { erase } from './commands/erase.ts';
import { events } from './commands/events.ts';
import { eventsReplay } from './commands/events-replay.ts';
import { groups } from './commands/groups.ts';
import { handlers } from './commands/handlers.ts';
import { calls, commands, idempotency } from './commands/kept.ts';
import { keys } from './commands/keys.ts';
import { mcp } from './commands/mcp.ts';
import { messages } from './commands/messages.ts';
import { migrate } from './commands/migrate.ts';
import { outboxCancel } from './commands/outbox-cancel.ts';
import { outboxStats } from './commands/outbox-stats.ts';
import { overview } from './commands/overview.ts';
import { pause, resume } from './commands/pause.ts';
import { relay } from './commands/relay.ts';
import { serve } from './commands/serve.ts';
import { runShow } from './commands/run-show.ts';
import { signingKeys } from './commands/signing-keys.ts';
import { system } from './commands/system.ts';
import { token } from './commands/token.ts';
import { trace } from './commands/trace.ts';
import { why } from './commands/why.ts';

/** Every command, in the order the help lists them. */
export const COMMANDS: readonly Command[] = [
  migrate,
  overview,
  messages,
  outboxStats,
  outboxCancel,
  dlqPeek,
  dlqList,
  dlqShow,
  dlqReplay,
  dlqEdit,
  dlqDiscard,
  dlqImport,
  groups,
  bulk,
  eventsReplay,
  events,
  why,
  trace,
  runShow,
  commands,
  calls,
  idempotency,
  keys,
  handlers,
  breakers,
  pause,
  resume,
  audit,
  erase,
  relay,
  serve,
  dev,
  token,
  signingKeys,
  endpoints,
  destinations,
  mcp,
  drill,
  system,
  doctor,
  completion,
];
