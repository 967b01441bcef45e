import type { HandlerRecord } from '../operator/operator-records.ts';
import { type Effect, guardedWrite, type Outcome } from './guarded-write.ts';
import { text, WRITE, WRITTEN } from './schemas.ts';
import { refusal, textOf, type Tool, type ToolCall, type ToolRefusal } from './tool.ts';

type Verb = 'pause' | 'resume';

const WORDS = {
  pause: {
    title: 'Pause a handler',
    does: 'Keeps the messages of a handler waiting; what runs goes on, sending goes on. Use it to stop attempts from being spent while something it needs is down.',
    happens: 'Nothing further is started for it until it is resumed. Nothing is lost.',
    already: 'it is paused already',
  },
  resume: {
    title: 'Resume a handler',
    does: 'Ends the pause of a handler: what waits for it is handled, in its order.',
    happens: 'What waits for it is handled, in its order.',
    already: 'it is not paused',
  },
} as const;

/** `pause_handler`. */
export const pauseHandler: Tool = handlerWrite('pause');

/** `resume_handler`. */
export const resumeHandler: Tool = handlerWrite('resume');

function handlerWrite(verb: Verb): Tool {
  const { title, does } = WORDS[verb];
  const name = `${verb}_handler`;
  return {
    name,
    title,
    description: `${does} Guarded: without preview_token it is a dry run.`,
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: { handler: text('its name, or service/name'), ...WRITE },
    required: ['handler'],
    output: WRITTEN,
    run: async (args, call) => {
      const handler = textOf(args, 'handler') ?? '';
      return guardedWrite(
        {
          tool: name,
          commandLine: `holdfast handlers ${verb} ${handler}`,
          see: () => seeHandler(call, handler, verb),
          apply: async ({ items }, reason) => {
            const id = String(items[0]?.['id']);
            const outcome = await call.operator[verb](id, { actor: call.actor, reason });
            const isRefused = outcome.kind !== 'paused' && outcome.kind !== 'resumed';
            return [{ id, kind: outcome.kind, isRefused } satisfies Outcome];
          },
        },
        args,
        call,
      );
    },
  };
}

async function seeHandler(call: ToolCall, name: string, verb: Verb): Promise<Effect | ToolRefusal> {
  const all = await call.operator.handlers();
  const fitting = all.filter((one) => one.handler === name || nameOf(one) === name);
  const [found] = fitting;
  if (found === undefined) return refusal('no handler goes by that name', 'list_handlers lists them');
  if (fitting.length > 1) {
    return refusal('two services have a handler of that name', `write ${fitting.map(nameOf).join(' or ')}`);
  }
  const isPaused = found.pausedAt !== undefined;
  if (isPaused === (verb === 'pause')) return refusal(WORDS[verb].already, 'nothing is left to do');
  return {
    verb,
    items: [
      { id: nameOf(found), service: found.service, handler: found.handler, workers: found.workers.length, isPaused },
    ],
    happens: WORDS[verb].happens,
    state: [nameOf(found), found.pausedAt?.getTime()],
  };
}

function nameOf({ service, handler }: HandlerRecord): string {
  return `${service}/${handler}`;
}
