import type { Instant } from '../kernel/effects.ts';
import { systemEffects } from '../system/effects.ts';
import { announceBetween, announceWait, type Countdown, countdown, headline } from './countdown.ts';
import { buildParts, type NoticeParts } from './element-parts.ts';
import { ELEMENT_STYLE } from './element-style.ts';
import { codeLabel, type RetryNoticeEvent, waitMs } from './notice-event.ts';

// Node has no HTMLElement. Importing this module there must work; only making an element may not.
const ElementBase: typeof HTMLElement = globalThis.HTMLElement ?? (Object as unknown as typeof HTMLElement);

const TAG = 'holdfast-retry-notice';

// Above this a person looks at the clock rather than at the countdown.
const SHOW_CLOCK_FROM_MS = 60_000;

// A live region that is filled in the moment it appears is not read out; screen readers need to have seen it empty.
const ANNOUNCE_AFTER_MS = 120;

/**
 * `idle`: nothing to show, and nothing is shown. `waiting`: the countdown runs. `retrying`: the wait is over and the next
 * answer has not come. `cancelled`: the person chose so. A new event leads from each of them to `waiting`.
 */
export type RetryNoticeState = 'idle' | 'waiting' | 'retrying' | 'cancelled';

/**
 * `<holdfast-retry-notice>`: a yellow warning with the provider's message, its code and a live countdown. Set `event` to
 * show it and `event = null` to take it away; or write `delay-ms`, `message`, `code` and `attempt` as attributes.
 *
 * The Cancel button dispatches `holdfast-cancel` with the event as its detail; what is cancelled is up to the page. If
 * the page calls `preventDefault()` the notice goes on counting.
 *
 * It announces itself politely. Do not put it inside a live region of your own, which would read out every second.
 */
export class RetryNoticeElement extends ElementBase {
  static readonly observedAttributes: readonly string[] = ['attempt', 'code', 'delay-ms', 'message', 'hidden'];

  #event: RetryNoticeEvent | null = null;
  #state: RetryNoticeState = 'idle';
  #startedAt: Instant = systemEffects.now();
  #lastRemainingMs = 0;
  #tickTimer: unknown;
  #liveTimer: unknown;
  #expanded = false;
  readonly #parts: NoticeParts;
  readonly #sizes: ResizeObserver;

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sharedStyle()];
    this.#parts = buildParts(root);
    this.#parts.cancel.addEventListener('click', () => this.cancel());
    this.#parts.more.addEventListener('click', () => this.#expand(!this.#expanded));
    this.#sizes = new ResizeObserver(() => this.#offerMore());
  }

  /**
   * The wait that is shown. Setting another event starts its countdown from now; setting the same object again, as
   * frameworks do when they draw anew, changes nothing; `null` hides the notice.
   */
  get event(): RetryNoticeEvent | null {
    return this.#event;
  }

  set event(event: RetryNoticeEvent | null) {
    if (event === this.#event) return;
    this.#event = event;
    this.#startedAt = systemEffects.now();
    this.#state = event === null ? 'idle' : 'waiting';
    this.#lastRemainingMs = event === null ? 0 : waitMs(event);
    this.#expand(false);
    this.#fill();
    this.#tick();
    this.#announce(event === null ? '' : announceWait(event, waitMs(event)));
  }

  /** Where the notice stands. */
  get state(): RetryNoticeState {
    return this.#state;
  }

  /** Does what the Cancel button does. Nothing when there is no retry to cancel. */
  cancel(): void {
    if (this.#event === null || (this.#state !== 'waiting' && this.#state !== 'retrying')) return;
    const options = { bubbles: true, composed: true, cancelable: true, detail: this.#event };
    if (!this.dispatchEvent(new CustomEvent('holdfast-cancel', options))) return;
    this.#state = 'cancelled';
    this.#tick();
    this.#announce('Retry cancelled.');
  }

  connectedCallback(): void {
    document.addEventListener('visibilitychange', this.#tick);
    this.#sizes.observe(this.#parts.message);
    this.#tick();
    if (this.#event !== null && this.#state === 'waiting')
      this.#announce(announceWait(this.#event, this.#lastRemainingMs));
  }

  disconnectedCallback(): void {
    document.removeEventListener('visibilitychange', this.#tick);
    this.#sizes.disconnect();
    this.#dropTimers();
  }

  attributeChangedCallback(name: string): void {
    if (name === 'hidden') this.#tick();
    else this.event = eventFromAttributes(this);
  }

  /** Draws what is true now, and comes back when the next second begins; not while nobody can see it. */
  readonly #tick = (): void => {
    systemEffects.clearTimer(this.#tickTimer);
    const look = this.#look();
    if (look?.remainingMs === 0 && this.#state === 'waiting') this.#state = 'retrying';
    this.#draw(look);
    if (look === undefined || this.#state !== 'waiting' || !this.isConnected || document.hidden || this.hidden) return;
    this.#tickTimer = systemEffects.setTimer(this.#tick, look.nextChangeMs ?? 0);
  };

  #look(): Countdown | undefined {
    if (this.#event === null || this.#state === 'cancelled') return undefined;
    const look = countdown(this.#event, this.#startedAt, systemEffects.now());
    const said = announceBetween(waitMs(this.#event), this.#lastRemainingMs, look.remainingMs);
    this.#lastRemainingMs = look.remainingMs;
    if (said !== undefined) this.#announce(said);
    return look;
  }

  #draw(look: Countdown | undefined): void {
    const { notice, headline: line, cancel, bar } = this.#parts;
    notice.dataset['state'] = this.#state;
    line.textContent = this.#state === 'cancelled' ? 'Retry cancelled' : look === undefined ? '' : headline(look);
    cancel.hidden = this.#state === 'cancelled' || this.#state === 'idle';
    bar.style.setProperty('--left', String(1 - (look?.progress ?? 0)));
  }

  /** Writes what stays the same for the whole wait. */
  #fill(): void {
    const { code, retry, at, message } = this.#parts;
    const event = this.#event;
    code.textContent = codeLabel(event?.code);
    retry.textContent = event === null ? '' : `Retry ${event.attempt + 1}`;
    const delayMs = event === null ? 0 : waitMs(event);
    const dueAtMs = this.#startedAt.wallMs + delayMs;
    at.textContent =
      delayMs >= SHOW_CLOCK_FROM_MS
        ? `Next try at ${new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format(dueAtMs)}`
        : '';
    message.textContent = event?.message ?? '';
    this.#offerMore();
  }

  #expand(expanded: boolean): void {
    this.#expanded = expanded;
    this.#parts.message.classList.toggle('clamped', !expanded);
    this.#parts.more.textContent = expanded ? 'Show less' : 'Show more';
    this.#parts.more.setAttribute('aria-expanded', String(expanded));
    // An opened message may scroll, and then the keyboard must be able to reach it.
    if (expanded) this.#parts.message.tabIndex = 0;
    else this.#parts.message.removeAttribute('tabindex');
    this.#offerMore();
  }

  /** The button is there only if the message does not fit into its three lines, or was opened. */
  #offerMore(): void {
    const { message, more } = this.#parts;
    more.hidden = !this.#expanded && message.scrollHeight <= message.clientHeight + 1;
  }

  #announce(text: string): void {
    systemEffects.clearTimer(this.#liveTimer);
    if (!this.isConnected) return;
    this.#liveTimer = systemEffects.setTimer(() => {
      this.#parts.live.textContent = text;
    }, ANNOUNCE_AFTER_MS);
  }

  #dropTimers(): void {
    systemEffects.clearTimer(this.#tickTimer);
    systemEffects.clearTimer(this.#liveTimer);
  }
}

/**
 * Registers the element, once per tag; a second call with the same tag does nothing, and so does any call where there is
 * no browser. Importing the module registers nothing.
 */
export function defineRetryNotice(tag: string = TAG): void {
  const registry = globalThis.customElements;
  if (registry === undefined || registry.get(tag) !== undefined) return;
  // A class can be registered once. A subclass for every tag leaves the exported one free.
  registry.define(tag, class extends RetryNoticeElement {});
}

let style: CSSStyleSheet | undefined;

// A constructed sheet is allowed where a style element is not: under `style-src 'self'`.
function sharedStyle(): CSSStyleSheet {
  if (style === undefined) {
    style = new CSSStyleSheet();
    style.replaceSync(ELEMENT_STYLE);
  }
  return style;
}

function eventFromAttributes(element: HTMLElement): RetryNoticeEvent | null {
  const delay = element.getAttribute('delay-ms');
  if (delay === null) return null;
  return {
    attempt: Number(element.getAttribute('attempt') ?? 0) || 0,
    delayMs: Number(delay) || 0,
    message: element.getAttribute('message') ?? '',
    code: element.getAttribute('code') ?? undefined,
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'holdfast-retry-notice': RetryNoticeElement;
  }
  interface GlobalEventHandlersEventMap {
    'holdfast-cancel': CustomEvent<RetryNoticeEvent>;
  }
}
