// @ts-check
import { defineRetryNotice } from 'holdfast/retry-notice';
import { failureWords, withoutLeadingCode } from './failure-words.js';

/**
 * @typedef {import('./chat-client.d.ts').ChatEvent} ChatEvent
 * @typedef {import('../turn-event.ts').HistoryEntry} HistoryEntry
 * @typedef {{ list: HTMLElement, noticePlace: HTMLElement, scroll: HTMLElement, onTryAgain: (question: string) => void }} Places
 */

const ICONS = {
  error: 'M10 6v5M10 13.6v.1M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15Z',
  aborted: 'M4.7 4.7l10.6 10.6M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15Z',
};

/**
 * Shows a conversation: what was said in a list, and the retry notice below it. The notice stands outside the list,
 * because the list is read out as it grows and the notice announces itself.
 */
export class Transcript {
  /** @type {Places} */
  #places;
  /** @type {HTMLElement | undefined} */
  #pending;
  /** @type {HTMLElement | undefined} */
  #answer;

  /** @param {Places} places */
  constructor(places) {
    this.#places = places;
    defineRetryNotice();
    this.notice = document.createElement('holdfast-retry-notice');
  }

  /** @param {ChatEvent} event */
  show(event) {
    const { scroll } = this.#places;
    const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
    this.#add(event);
    if (atEnd || event.type === 'turn-start') scroll.scrollTop = scroll.scrollHeight;
  }

  /** @param {ChatEvent} event */
  #add(event) {
    const { list, noticePlace } = this.#places;
    switch (event.type) {
      case 'conversation':
        this.#settle();
        list.replaceChildren(...event.messages.map((kept) => this.#entryOf(kept)));
        break;
      case 'turn-start':
        this.#question(event.turnId, event.text);
        break;
      case 'provider-retry':
        this.#settle();
        this.notice.event = { ...event, message: withoutLeadingCode(event) };
        noticePlace.replaceChildren(this.notice);
        break;
      case 'text':
        if (this.#answer === undefined) {
          this.#settle();
          this.#answer = entry('assistant', event.turnId, '');
          this.#answer.setAttribute('aria-busy', 'true');
          list.append(this.#answer);
        }
        this.#answer.append(event.text);
        break;
      case 'error':
        this.#settle();
        list.append(this.#entryOf({ role: 'error', ...event }));
        break;
      case 'turn-end':
        this.#settle();
        if (event.outcome === 'aborted') list.append(this.#entryOf({ role: 'aborted', turnId: event.turnId }));
        break;
      case 'refused':
        list.append(remark('error', '', { title: 'Not sent', text: event.message }));
        break;
      case 'provider-retry-end':
        break;
    }
  }

  /**
   * @param {string} turnId
   * @param {string} text
   */
  #question(turnId, text) {
    const { list } = this.#places;
    // After a reload the history holds the question already.
    if (list.querySelector(`.user[data-turn="${CSS.escape(turnId)}"]`) === null)
      list.append(entry('user', turnId, text));
    this.#pending = entry('pending', turnId, 'Asking the provider');
    // What is only there to be looked at is not read out.
    this.#pending.setAttribute('aria-hidden', 'true');
    list.append(this.#pending);
  }

  /** @param {HistoryEntry} kept */
  #entryOf(kept) {
    switch (kept.role) {
      case 'error': {
        const item = remark('error', kept.turnId, failureWords(kept));
        item.append(this.#tryAgain(kept.turnId));
        return item;
      }
      case 'aborted':
        return remark('aborted', kept.turnId, { title: 'Cancelled', text: 'The provider is not asked again.' });
      default:
        return entry(kept.role, kept.turnId, kept.text);
    }
  }

  /**
   * A button that asks the question of this turn anew. The style shows it on the last entry only.
   *
   * @param {string} turnId
   */
  #tryAgain(turnId) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'again';
    button.textContent = 'Try again';
    button.addEventListener('click', () => {
      const question = this.#places.list.querySelector(`.user[data-turn="${CSS.escape(turnId)}"]`);
      this.#places.onTryAgain(question?.textContent ?? '');
    });
    return button;
  }

  /** Takes away what only stood for something to come, and ends the answer under way. */
  #settle() {
    this.#pending?.remove();
    this.#pending = undefined;
    this.#answer?.removeAttribute('aria-busy');
    this.#answer = undefined;
    this.notice.remove();
    this.notice.event = null;
  }
}

/**
 * @param {string} kind
 * @param {string} turnId
 * @param {string} text
 */
function entry(kind, turnId, text) {
  const item = document.createElement('li');
  item.className = `entry ${kind}`;
  item.dataset.turn = turnId;
  if (kind === 'user') item.setAttribute('aria-label', 'You');
  item.textContent = text;
  return item;
}

/**
 * @param {'error' | 'aborted'} kind
 * @param {string} turnId
 * @param {import('./failure-words.d.ts').FailureWords} words
 */
function remark(kind, turnId, { title, text, detail }) {
  const item = entry(kind, turnId, '');
  const body = document.createElement('div');
  const head = document.createElement('b');
  const said = document.createElement('span');
  head.textContent = title;
  said.textContent = text;
  said.className = 'said';
  said.dir = 'auto';
  body.append(head, said);
  if (detail !== undefined) {
    const own = document.createElement('small');
    own.textContent = detail;
    own.dir = 'auto';
    body.append(own);
  }
  item.append(icon(ICONS[kind]), body);
  return item;
}

/** @param {string} path */
function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  for (const [name, value] of Object.entries({
    viewBox: '0 0 20 20',
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': '1.6',
    'stroke-linecap': 'round',
    'aria-hidden': 'true',
  })) {
    svg.setAttribute(name, value);
  }
  const shape = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  shape.setAttribute('d', path);
  svg.append(shape);
  return svg;
}
