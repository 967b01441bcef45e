// @ts-check
import { formatDuration } from 'holdfast/retry-notice';
import { retriesAndWaiting } from './failure-words.js';

/**
 * @typedef {{ failures: number, fault: string, message: string, ownWords: Record<string, string>, speed: number, waitsMs: number[],
 *   requests: { number: number, answer: string, roles: string[] }[] }} Controls
 */

/** @typedef {{ form: HTMLFormElement, plan: HTMLElement, state: HTMLElement, requests: HTMLElement, none: HTMLElement, forecast: HTMLElement, conversationId: () => string }} Places */

/** The panel that tells the local provider how to fail, and shows what it was asked. */
export class ProviderPanel {
  /** @type {Places} */
  #places;
  #filled = false;

  /** @param {Places} places */
  constructor(places) {
    this.#places = places;
    places.form.addEventListener('change', () => void this.#save());
    // What is being typed is not saved yet.
    places.form.addEventListener('input', () => this.#tell('', false));
    places.form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#save();
    });
    void this.refresh();
  }

  /** Shows what the provider was asked by now. */
  async refresh() {
    const { form } = this.#places;
    const address = this.#address();
    try {
      /** @type {Controls} */
      const controls = await (await fetch(address)).json();
      if (address !== this.#address()) return;
      // Another page may have changed them; but not under the hands of whoever is changing them here.
      if (!form.contains(document.activeElement) && !form.matches(':invalid')) fill(form, controls);
      this.#filled = true;
      this.#draw(controls);
    } catch {
      // The connection's own state says that the server is gone.
    }
  }

  async #save() {
    const { form } = this.#places;
    if (!this.#filled) return;
    if (!form.reportValidity()) {
      const wrong = /** @type {HTMLInputElement | null} */ (form.querySelector('input:invalid, textarea:invalid'));
      return this.#tell(`Not saved: ${wrong?.validationMessage ?? 'look at the fields'}`, true);
    }
    const data = new FormData(form);
    const wanted = {
      failures: Number(data.get('failures')),
      fault: data.get('fault'),
      // Not there while the field is disabled, because the fault has no words.
      ...(data.has('message') && { message: data.get('message') }),
      speed: Number(data.get('speed')),
    };
    try {
      const response = await fetch(this.#address(), {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(wanted),
      });
      const body = await response.json();
      if (response.ok) this.#draw(body);
      this.#tell(response.ok ? 'Saved' : body.error.message, !response.ok);
    } catch {
      this.#tell('Not saved: the server does not answer', true);
    }
  }

  #address() {
    return `/provider?conversation=${encodeURIComponent(this.#places.conversationId())}`;
  }

  /** @param {Controls} controls */
  #draw(controls) {
    const { form, plan, none, requests, forecast } = this.#places;
    const words = controls.ownWords[controls.fault] ?? '';
    const message = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem('message'));
    message.placeholder = words === '' ? 'Nothing: the connection just ends.' : words;
    message.disabled = words === '';
    plan.textContent = planText(controls);
    forecast.textContent = forecastText(controls);
    none.hidden = controls.requests.length > 0;
    requests.replaceChildren(...controls.requests.toReversed().map(requestRow));
  }

  /**
   * @param {string} text
   * @param {boolean} bad
   */
  #tell(text, bad) {
    this.#places.state.textContent = text;
    this.#places.state.toggleAttribute('data-bad', bad);
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {Controls} controls
 */
function fill(form, controls) {
  for (const name of /** @type {const} */ (['failures', 'fault', 'message', 'speed'])) {
    const field = form.elements.namedItem(name);
    if (field !== null && 'value' in field) field.value = String(controls[name]);
  }
}

/**
 * When the provider is asked again, and when no more, in a sentence.
 *
 * @param {Controls} controls
 */
function planText({ waitsMs, speed }) {
  const totalMs = waitsMs.reduce((sum, ms) => sum + ms, 0);
  const end = `Gives up after ${retriesAndWaiting(waitsMs.length, totalMs)}.`;
  if (speed > 100) return `The same waits, ${speed.toLocaleString('en')} times shorter. ${end}`;
  const last = waitsMs.at(-1) ?? 0;
  const steps = waitsMs.slice(0, waitsMs.indexOf(last) + 1);
  return `Waits ${steps.map(shortDuration).join(', ')} and so on. ${end}`;
}

/**
 * What the next question will meet.
 *
 * @param {Controls} controls
 */
function forecastText({ failures, fault, waitsMs }) {
  if (failures === 0) return 'The next request gets its answer at once. Let some fail to see a retry.';
  const first = failures === 1 ? 'The first request of each turn' : `The first ${failures} requests of each turn`;
  if (fault === 'unauthorized' || fault === 'cut-mid-reply')
    return `${first} will fail in a way that is never retried.`;
  if (failures > waitsMs.length)
    return `${first} will fail: more than there are retries. In the end you will see the error.`;
  const waits = waitsMs.slice(0, failures).map(shortDuration);
  const shown = waits.length > 3 ? `${waits.slice(0, 3).join(', ')} and more` : waits.join(', then ');
  return `${first} will fail. You will see a yellow notice that counts down ${shown}, and then the answer.`;
}

/** @param {number} ms */
function shortDuration(ms) {
  // A number stays on the line of its unit.
  return (ms < 1_000 ? `${ms / 1_000} s` : formatDuration(ms)).replaceAll(' ', '\u00A0');
}

/** @param {Controls['requests'][number]} request */
function requestRow({ number, answer, roles }) {
  const row = document.createElement('li');
  row.append(
    cell('number', `#${number}`),
    cell(answer === 'streamed' ? 'answer streamed' : 'answer', answer),
    cell('roles', `${roles.length} ${roles.length === 1 ? 'message' : 'messages'}`),
  );
  row.title = roles.join(', ');
  return row;
}

/**
 * @param {string} className
 * @param {string} text
 */
function cell(className, text) {
  const span = document.createElement('span');
  span.className = className;
  span.textContent = text;
  return span;
}
