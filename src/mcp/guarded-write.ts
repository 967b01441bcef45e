import {
  answer,
  refusal,
  textOf,
  type ToolArguments,
  type ToolCall,
  type ToolRefusal,
  type ToolResult,
} from './tool.ts';

/** Exactly what a write would do. */
export interface Effect {
  readonly verb: string;
  /** What is changed, by its id, with what happens to it. */
  readonly items: readonly Readonly<Record<string, unknown>>[];
  /** In words. */
  readonly happens: string;
  /** Everything whose change would make the preview untrue. */
  readonly state: unknown;
}

/** What became of one thing. */
export interface Outcome {
  readonly id: string;
  readonly kind: string;
  readonly [detail: string]: unknown;
}

/** A write: how its effect is seen, and how it is done. */
export interface GuardedWrite {
  readonly tool: string;
  /** How a person would do it, where the server only reads. */
  readonly commandLine: string;
  see(): Promise<Effect | ToolRefusal>;
  /** Does exactly what was seen. */
  apply(effect: Effect, reason: string): Promise<readonly Outcome[]>;
}

/**
 * Without a token: looks, and tells what would happen. With a token: looks again, and does it only if the token was given to this
 * caller for this very effect and nothing of it has changed since.
 */
export async function guardedWrite(write: GuardedWrite, args: ToolArguments, call: ToolCall): Promise<ToolResult> {
  const { guard, actor } = call;
  const effect = await write.see();
  if ('kind' in effect) return effect;
  const { maxItems } = guard.limits;
  if (effect.items.length > maxItems) {
    return refusal(
      `it would change ${effect.items.length} deliveries, and this server allows ${maxItems} a call to agents`,
      'narrow it down, for example to one handler, or ask a person to do it',
    );
  }
  const previewed = { actor, tool: write.tool, request: requestOf(args), state: JSON.stringify(effect.state) };
  const token = textOf(args, 'preview_token');
  if (token === undefined) return dryRun(write, effect, call, () => guard.preview(previewed));
  const reason = textOf(args, 'reason');
  const problem =
    (call.isReadOnly ? readOnly(write.commandLine) : undefined) ??
    (reason === undefined
      ? refusal('a write needs a reason: it stands in the audit', 'pass reason, with the same preview_token')
      : undefined) ??
    guard.overLimit() ??
    guard.redeem(token, previewed);
  if (problem !== undefined) return problem;
  guard.countWrite();
  const outcomes = await write.apply(effect, reason ?? '');
  return done(effect, outcomes);
}

/** Said to whoever may only look. */
export function readOnly(commandLine: string): ToolRefusal {
  return refusal(
    'this server is read-only for you; nothing was changed',
    `a person can run: ${commandLine}; or start the server with --allow-writes`,
  );
}

function shownEffect({ verb, items, happens }: Effect): Readonly<Record<string, unknown>> {
  return { verb, count: items.length, items, happens };
}

function dryRun(write: GuardedWrite, effect: Effect, call: ToolCall, newToken: () => string): ToolResult {
  const shown = { isDryRun: true, effect: shownEffect(effect) };
  const would = `Dry run: nothing was changed. It would ${effect.verb} ${effect.items.length}.`;
  if (call.isReadOnly) {
    return answer(`${would} This server is read-only for you; a person can run: ${write.commandLine}`, shown);
  }
  const seconds = Math.floor(call.guard.limits.previewMs / 1_000);
  return answer(
    `${would} If that is what you want, call ${write.tool} again with the same arguments, this preview_token and a reason, within ${seconds} seconds. The token works once, and only while nothing of this has changed.`,
    { ...shown, preview_token: newToken(), expires_in_seconds: seconds },
  );
}

function done(effect: Effect, outcomes: readonly Outcome[]): ToolResult {
  const refused = outcomes.filter((one) => one['isRefused'] === true);
  if (refused.length === outcomes.length) {
    return refusal(
      `nothing was changed: ${refused.map((one) => `${one.id} ${one.kind}`).join(', ') || 'there was nothing left to change'}`,
      'somebody else was quicker; look at it again',
    );
  }
  const count = outcomes.length - refused.length;
  const also = refused.length === 0 ? '' : ` ${refused.length} had changed meanwhile and were left alone.`;
  return answer(`Done: ${effect.verb} ${count}.${also} It stands in the audit.`, {
    isDryRun: false,
    effect: shownEffect(effect),
    outcomes,
  });
}

function requestOf(args: ToolArguments): string {
  const own = Object.entries(args).filter(([name]) => name !== 'preview_token' && name !== 'reason');
  return JSON.stringify(own.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
