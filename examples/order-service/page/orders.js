// @ts-check
import { OrderList } from './order-list.js';

/** @typedef {import('../shop-state.ts').ShopState} ShopState */
/** @typedef {import('../shop-state.ts').Totals} Totals */

const POISON = 'XTS';
const MOST_SHOWN = 30;

const $ = /** @param {string} id */ (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const form = /** @type {HTMLFormElement} */ ($('order'));
const list = new OrderList($('orders'), (path, body) => send('POST', path, body));
let isFixed = false;

$('curl').textContent =
  `curl ${location.origin}/orders -H 'content-type: application/json' \\\n  -d '{"item":"Coffee beans","total":12.5,"email":"ada@example.org"}'`;
follow();
setInterval(() => list.tick(), 250);

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void place(1);
});
$('place-ten').addEventListener('click', () => {
  if (form.reportValidity()) void place(10);
});
$('poison').addEventListener('click', () => {
  if (form.reportValidity()) void place(1, POISON);
});
$('fix').addEventListener('click', () => void send('PUT', `/rates/${POISON}`, { euro: isFixed ? null : 0.5 }));

/** Listens to the server; the browser connects anew by itself when the connection breaks. */
function follow() {
  const source = new EventSource('/live');
  source.addEventListener('open', () => connection('open', 'Connected'));
  source.addEventListener('error', () => connection('lost', 'Connection lost, trying again'));
  source.addEventListener('trouble', () => connection('lost', 'The database does not answer, trying again'));
  source.addEventListener('message', (event) => {
    connection('open', 'Connected');
    show(/** @type {ShopState} */ (JSON.parse(event.data)));
  });
}

/** @param {ShopState} state */
function show({ totals, orders, isFixed: fixed }) {
  isFixed = fixed;
  for (const name of /** @type {const} */ (['orders', 'counted', 'charged', 'receipts', 'twice'])) {
    setText(`total-${name}`, totals[name].toLocaleString('en'));
  }
  $('total-twice').parentElement?.toggleAttribute('data-bad', totals.twice > 0);
  setText('verdict', verdict(totals));
  setText('aside', aside(totals));
  setText(
    'fix-state',
    fixed
      ? 'It knows what XTS is worth now: a dead letter that is replayed succeeds.'
      : 'It does not know what the currency XTS is worth, so an order in XTS can never be charged: a dead letter.',
  );
  setText('fix', fixed ? 'Break the handler again' : 'Fix the handler');
  $('fix').setAttribute('aria-pressed', String(fixed));
  $('empty').hidden = totals.orders > 0;
  $('more').hidden = totals.orders <= MOST_SHOWN;
  list.show(orders);
}

/** @param {Totals} totals */
function verdict({ orders, counted, charged, receipts, twice, deadLetters, discarded }) {
  if (twice > 0 || counted > orders) return 'Something happened twice. That must never be.';
  if (orders === 0) return 'Nothing lost, nothing twice.';
  if (deadLetters > 0) return deadLetters === 1 ? '1 dead letter needs you.' : `${deadLetters} dead letters need you.`;
  const open = orders - Math.min(counted, charged + discarded, receipts);
  if (open > 0) return open === 1 ? '1 order is on its way.' : `${open} orders are on their way.`;
  return discarded === 0
    ? 'Nothing lost, nothing twice: every order was counted, charged and mailed once.'
    : 'Nothing lost, nothing twice: everything was done once, or discarded by you.';
}

/** @param {Totals} totals */
function aside({ repeatedMails, discarded }) {
  const parts = [];
  if (discarded > 0) parts.push(`${discarded} discarded.`);
  if (repeatedMails > 0) {
    parts.push(
      `The mail provider was asked again for ${repeatedMails} mail(s) it had sent; by their key it sent none twice.`,
    );
  }
  return parts.join(' ');
}

/**
 * @param {number} count
 * @param {string} [currency]
 */
async function place(count, currency) {
  const data = new FormData(form);
  const order = {
    item: data.get('item'),
    total: Number(data.get('total')),
    email: data.get('email'),
    ...(currency !== undefined && { currency }),
  };
  for (let left = count; left > 0; left--) if (!(await send('POST', '/orders', order))) return;
}

/**
 * @param {'POST' | 'PUT'} method
 * @param {string} path
 * @param {object} body
 * @returns {Promise<boolean>} false if it was refused; the page says why
 */
async function send(method, path, body) {
  let problem = '';
  try {
    const response = await fetch(path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) problem = (await response.json()).error.message;
  } catch {
    problem = 'The service does not answer. Start it again with npm start; what was placed is kept.';
  }
  setText('problem', problem);
  return problem === '';
}

/**
 * @param {'open' | 'lost'} state
 * @param {string} words
 */
function connection(state, words) {
  $('connection').dataset['state'] = state;
  setText('connection', words);
}

/**
 * @param {string} id
 * @param {string} text
 */
function setText(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}
