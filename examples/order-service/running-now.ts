import type { RelayEvent } from 'holdfast';

/** Which handlers of this process are at work on which message. The database learns of it only when a run takes long. */
export class RunningNow {
  readonly #attempts = new Map<string, number>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Give it to the relay. */
  readonly observe = (event: RelayEvent): void => {
    switch (event.kind) {
      case 'run-started':
        this.#attempts.set(nameOf(event.delivery.id, event.handler), event.attempt);
        break;
      case 'run-done':
      case 'run-failed':
      case 'run-refused':
      case 'run-interrupted':
        this.#attempts.delete(nameOf(event.delivery.id, event.handler));
        break;
      default:
        return;
    }
    this.#onChange();
  };

  /** The attempt under way, from 1. */
  attemptOf(messageId: string, handler: string): number | undefined {
    return this.#attempts.get(nameOf(messageId, handler));
  }
}

function nameOf(messageId: string, handler: string): string {
  return `${messageId} ${handler}`;
}
