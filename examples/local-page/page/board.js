// @ts-check

/** @typedef {import('../board-state.ts').Board} Board */
/** @typedef {import('../board-state.ts').BoardTable} BoardTable */
/** @typedef {import('../board-state.ts').Cell} Cell */

const PAUSE_MS = 1_000;
/** A table of so many columns has room beside another. */
const NARROW = 4;
/** Texts of so many characters are not broken into lines. */
const SHORT = 16;

const $ = /** @param {string} id */ (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** What stands in each part now: one that did not change is left alone, so that a selection and the focus stay. */
const shown = new Map();

void follow();

/** Asks again and again, for as long as somebody looks. */
async function follow() {
  for (;;) {
    if (!document.hidden) await look();
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function look() {
  try {
    const response = await fetch('/board');
    const answer = await response.json();
    if (!response.ok) return connection('lost', answer.error.message);
    connection('open', 'Connected');
    show(answer);
  } catch {
    connection('lost', 'Connection lost, trying again');
  }
}

/** @param {Board} board */
function show({ title, verdict, counts, links, tables, commands }) {
  document.title = title;
  setText($('title'), title);
  setText($('verdict'), verdict);
  part('counts', counts, () => counts.map(({ name, value, isBad = false }) => count(name, value, isBad)));
  part('links', links, () => links.map(({ text, href }) => wrapped('li', link(text, href))));
  part('tables', tables, () => tables.map(tableSection));
  part('commands', commands, () => commands.flatMap(({ about, command }) => commandOf(about, command)));
}

/**
 * @param {string} id
 * @param {unknown} state
 * @param {() => HTMLElement[]} make
 */
function part(id, state, make) {
  const text = JSON.stringify(state);
  if (shown.get(id) === text) return;
  shown.set(id, text);
  $(id).replaceChildren(...make());
}

/**
 * @param {string} name
 * @param {number} value
 * @param {boolean} isBad
 */
function count(name, value, isBad) {
  const box = made('div');
  box.toggleAttribute('data-bad', isBad);
  box.append(made('dt', name), made('dd', value.toLocaleString('en')));
  return box;
}

/** @param {BoardTable} table */
function tableSection({ title, columns, rows, empty }) {
  const section = made('section');
  section.className = 'card';
  section.toggleAttribute('data-narrow', columns.length <= NARROW);
  const heading = made('h2', title);
  section.append(heading);
  if (rows.length === 0) {
    const nothing = made('p', empty);
    nothing.className = 'empty';
    section.append(nothing);
    return section;
  }
  const table = made('table');
  const head = made('tr');
  head.append(...columns.map((name) => headCell(name)));
  const body = made('tbody');
  body.append(...rows.map((row) => rowOf(row, columns)));
  table.append(wrapped('thead', head), body);
  table.setAttribute('aria-label', title);
  section.append(table);
  return section;
}

/** @param {string} name */
function headCell(name) {
  const cell = made('th', name);
  cell.setAttribute('scope', 'col');
  return cell;
}

/**
 * @param {readonly Cell[]} row
 * @param {readonly string[]} columns
 */
function rowOf(row, columns) {
  const line = made('tr');
  for (const [index, cell] of row.entries()) {
    const element = made('td');
    // Shown before the value where the screen is too narrow for columns.
    element.dataset['name'] = columns[index] ?? '';
    element.append(content(cell));
    element.classList.toggle('short', (element.textContent ?? '').length <= SHORT);
    line.append(element);
  }
  return line;
}

/** @param {Cell} cell */
function content(cell) {
  if (typeof cell === 'string' || typeof cell === 'number') return made('span', String(cell));
  const element = cell.href === undefined ? made('span', cell.text) : link(cell.text, cell.href);
  if (cell.tone !== undefined) element.dataset['tone'] = cell.tone;
  return element;
}

/**
 * @param {string} about
 * @param {string} command
 * @returns {HTMLElement[]}
 */
function commandOf(about, command) {
  const line = made('pre');
  line.tabIndex = 0;
  line.setAttribute('role', 'group');
  line.setAttribute('aria-label', `Command: ${about}`);
  line.append(made('code', command));
  return [made('dt', about), wrapped('dd', line)];
}

/**
 * @param {string} text
 * @param {string} href
 */
function link(text, href) {
  const element = made('a', text);
  // An address of this machine or a path of this page, and nothing that runs.
  if (/^(\/|https?:\/\/)/.test(href)) element.setAttribute('href', href);
  return element;
}

/**
 * @param {string} tag
 * @param {HTMLElement} inside
 */
function wrapped(tag, inside) {
  const element = made(tag);
  element.append(inside);
  return element;
}

/**
 * @param {string} tag
 * @param {string} [text]
 */
function made(tag, text = '') {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

/**
 * @param {'open' | 'lost'} state
 * @param {string} words
 */
function connection(state, words) {
  $('connection').dataset['state'] = state;
  setText($('connection'), words);
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
