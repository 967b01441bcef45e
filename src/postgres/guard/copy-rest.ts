import type { Effects } from '../../kernel/effects.ts';

/** Watches one COPY from us. */
export interface CopyRest {
  /** Rows were sent. */
  used(): void;
  /** It has ended. */
  end(): void;
}

/** How long an effect may ask nothing of its transaction, and what ends it then. */
export interface RestLimit {
  readonly restMs: number;
  readonly onRest: () => void;
}

/**
 * Calls `onRest` once when nothing was sent for `restMs` although nothing is left to send: the effect has forgotten its COPY, or waits for
 * a statement that is behind it. To the server such a session is at work, so no limit of the server's ends it, and it would wait for ever.
 */
export function watchCopyRest(
  effects: Effects,
  { restMs, onRest }: RestLimit,
  stream: { readonly writableLength: number },
): CopyRest {
  let lastMs = effects.monoMs();
  let timer: unknown;
  const look = (): void => {
    if (stream.writableLength > 0) lastMs = effects.monoMs();
    const leftMs = lastMs + restMs - effects.monoMs();
    if (leftMs <= 0) onRest();
    else timer = effects.setTimer(look, Math.ceil(leftMs));
  };
  look();
  return {
    used: () => {
      lastMs = effects.monoMs();
    },
    end: () => effects.clearTimer(timer),
  };
}
