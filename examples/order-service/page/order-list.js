// @ts-check

/** @typedef {import('../shop-state.ts').OrderState} OrderState */
/** @typedef {import('../shop-state.ts').HandlerState} HandlerState */

const WORDS = {
  queued: 'In line',
  running: 'Running',
  waiting: 'Waits',
  failed: 'Failed for good',
  delivered: 'Done',
  discarded: 'Discarded',
};

/**
 * The list of orders. What did not change is left alone, so that nothing moves under the pointer and no button loses its
 * focus.
 */
export class OrderList {
  #list;
  #act;
  /** @type {Map<string, OrderRow>} */
  #rows = new Map();

  /**
   * @param {HTMLElement} list
   * @param {(path: string, body: object) => Promise<boolean>} act Sends what a person decided; false if it was refused.
   */
  constructor(list, act) {
    this.#list = list;
    this.#act = act;
  }

  /** @param {readonly OrderState[]} orders newest first */
  show(orders) {
    const ids = new Set(orders.map((order) => order.id));
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue;
      row.element.remove();
      this.#rows.delete(id);
    }
    for (const [index, order] of orders.entries()) {
      const row = this.#rows.get(order.id) ?? new OrderRow(order, this.#act);
      this.#rows.set(order.id, row);
      row.show(order);
      const there = this.#list.children[index];
      if (there !== row.element) this.#list.insertBefore(row.element, there ?? null);
    }
  }

  /** Counts down. */
  tick() {
    for (const row of this.#rows.values()) row.tick();
  }
}

class OrderRow {
  element = make('li', 'order');
  #handlers = make('ul', 'handlers');
  #dead = make('div', '');
  #act;
  /** @type {Map<string, HandlerCell>} */
  #cells = new Map();
  #deadLetters = '';

  /**
   * @param {OrderState} order
   * @param {(path: string, body: object) => Promise<boolean>} act
   */
  constructor(order, act) {
    this.#act = act;
    const head = make('div', 'order-head');
    const money = new Intl.NumberFormat('en', { minimumFractionDigits: 2 }).format(order.total);
    const time = make('time', '', new Date(order.placedAt).toLocaleTimeString());
    time.setAttribute('datetime', order.placedAt);
    const facts = make('p', 'facts', `${money} ${order.currency} · ${order.email} · `);
    facts.append(time);
    const link = make('a', '', 'Message');
    link.setAttribute('href', `/console/messages/${order.messageId}`);
    link.setAttribute('aria-label', `Message of order ${order.number}`);
    head.append(make('h3', '', `#${order.number} ${order.item}`), facts, link);
    this.element.append(head, this.#handlers, this.#dead);
  }

  /** @param {OrderState} order */
  show(order) {
    for (const handler of order.handlers) {
      const cell = this.#cells.get(handler.name) ?? new HandlerCell(handler);
      if (!this.#cells.has(handler.name)) this.#handlers.append(cell.element);
      this.#cells.set(handler.name, cell);
      cell.show(handler);
    }
    const dead = order.handlers.filter((handler) => handler.deadLetterId !== undefined);
    const deadLetters = JSON.stringify(dead);
    if (deadLetters === this.#deadLetters) return;
    this.#deadLetters = deadLetters;
    this.#dead.replaceChildren(...dead.map((handler) => deadLetter(order, handler, this.#act)));
  }

  tick() {
    for (const cell of this.#cells.values()) cell.tick();
  }
}

class HandlerCell {
  element = make('li', 'handler');
  #status = make('p', 'handler-status');
  #error = make('p', 'handler-error');
  /** @type {HandlerState} */
  #handler;
  #dueAt = 0;

  /** @param {HandlerState} handler */
  constructor(handler) {
    this.#handler = handler;
    this.element.append(make('p', 'handler-name', handler.name), this.#status, this.#error);
  }

  /** @param {HandlerState} handler */
  show(handler) {
    this.#handler = handler;
    this.#dueAt = performance.now() + (handler.dueInMs ?? 0);
    this.element.dataset['status'] = handler.status;
    // A dead letter has its own box, with its error.
    const error = handler.status === 'delivered' || handler.deadLetterId !== undefined ? '' : (handler.error ?? '');
    setText(this.#error, error);
    this.tick();
  }

  tick() {
    const { status, attempt, maxAttempts, replays } = this.#handler;
    const again = replays > 0 ? ', replayed' : '';
    if (status === 'waiting') {
      const seconds = Math.max(0, Math.ceil((this.#dueAt - performance.now()) / 1000));
      const when = seconds === 0 ? 'is due' : `in ${seconds} s`;
      return setText(this.#status, `Attempt ${attempt + 1} of ${maxAttempts} ${when}`);
    }
    if (status === 'running') return setText(this.#status, `Running, attempt ${attempt} of ${maxAttempts}`);
    if (status === 'delivered' && attempt > 1) return setText(this.#status, `Done at attempt ${attempt}${again}`);
    setText(this.#status, `${WORDS[status]}${status === 'delivered' ? again : ''}`);
  }
}

/**
 * @param {OrderState} order
 * @param {HandlerState} handler
 * @param {(path: string, body: object) => Promise<boolean>} act
 */
function deadLetter(order, handler, act) {
  const path = `/dead-letters/${encodeURIComponent(handler.deadLetterId ?? '')}`;
  const box = make('div', 'dead');
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', `Dead letter of order ${order.number}`);
  const actions = make('div', 'actions');
  const replay = button('Replay', `Replay order ${order.number}`);
  const discard = button('Discard …', `Discard the dead letter of order ${order.number}`);
  const form = make('form', '');
  const label = make('label', '');
  const input = document.createElement('input');
  input.required = true;
  input.maxLength = 500;
  label.append(make('span', '', 'Why is it given up?'), input);
  const confirm = button('Discard it', `Discard it: order ${order.number}`);
  confirm.type = 'submit';
  form.append(label, confirm);
  form.hidden = true;
  actions.append(replay, discard);
  box.append(
    make('h4', '', `Dead letter: ${handler.error ?? 'no error was kept'}`),
    make('p', '', handler.why ?? ''),
    actions,
    form,
  );
  replay.addEventListener('click', () => void once(replay, `${path}/replay`, 'replayed from the page'));
  discard.setAttribute('aria-expanded', 'false');
  discard.addEventListener('click', () => open(form.hidden !== false));
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    open(false);
    discard.focus();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void once(confirm, `${path}/discard`, input.value);
  });
  return box;

  /** @param {boolean} isOpen whether a reason is asked for */
  function open(isOpen) {
    form.hidden = !isOpen;
    discard.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) input.focus();
  }

  /**
   * Presses a button once; it can be pressed again if that was refused.
   * @param {HTMLButtonElement} pressed
   * @param {string} where
   * @param {string} reason
   */
  async function once(pressed, where, reason) {
    pressed.disabled = true;
    pressed.disabled = await act(where, { reason });
  }
}

/**
 * @param {string} text
 * @param {string} name
 */
function button(text, name) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.setAttribute('aria-label', name);
  return made;
}

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 */
function make(tag, className, text = '') {
  const element = document.createElement(tag);
  if (className !== '') element.className = className;
  element.textContent = text;
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
