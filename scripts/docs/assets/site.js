const up = document.currentScript.dataset.up;
const $ = (selector) => document.querySelector(selector);

// The theme: the other one than what is seen, kept for the next time.
$('.theme-button').addEventListener('click', () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
  try {
    localStorage.setItem('holdfast-docs-theme', root.dataset.theme);
  } catch {
    // It holds for this page.
  }
});

// The menu of narrow screens.
const menu = $('#menu');
const menuButton = $('.menu-button');
const showMenu = (isOpen) => {
  menu.classList.toggle('open', isOpen);
  menuButton.setAttribute('aria-expanded', String(isOpen));
};
menuButton.addEventListener('click', () => showMenu(!menu.classList.contains('open')));
menu.querySelector('[aria-current]')?.scrollIntoView({ block: 'center' });

// Copy: what one types, without prompts and without what was answered.
for (const block of document.querySelectorAll('.code:not(.output)')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  const say = (word) => {
    button.textContent = word;
    setTimeout(() => (button.textContent = 'Copy'), 1500);
  };
  button.addEventListener('click', () => {
    const text = block.querySelector('code').textContent;
    const typed = text.split('\n').filter((line) => line.startsWith('$ '));
    const copied = typed.length > 0 ? typed.map((line) => line.slice(2)).join('\n') : text;
    navigator.clipboard.writeText(copied).then(
      () => say('Copied'),
      () => say('Refused'),
    );
  });
  block.append(button);
}

// Where one is on the page.
const links = new Map([...document.querySelectorAll('aside a')].map((link) => [link.hash.slice(1), link]));
if (links.size > 0) {
  const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  const look = () => {
    const at = headings.findLast((heading) => heading.getBoundingClientRect().top < 120) ?? headings[0];
    for (const [id, link] of links) link.classList.toggle('here', id === at?.id);
  };
  addEventListener('scroll', look, { passive: true });
  look();
}

// The search: words that all must be there; names and headings count more than text.
const dialog = $('dialog.search');
const input = dialog.querySelector('input');
const note = $('.search-note');
const results = $('#results');
let loading;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${up}assets/search-index.js`;
    script.addEventListener('load', () => resolve(globalThis.searchIndex));
    script.addEventListener('error', () => reject(new Error('the index is not there')));
    document.head.append(script);
  });
  return loading;
}

function score([address, title, , heading, text], words) {
  let sum = address.startsWith('reference/') ? -8 : 0;
  for (const word of words) {
    const [inHeading, inTitle, inText] = [heading, title, text].map((one) => one.toLowerCase().indexOf(word));
    if (inHeading === -1 && inTitle === -1 && inText === -1) return 0;
    if (heading.toLowerCase() === word) sum += 100;
    else if (inHeading === 0) sum += 60;
    else if (inHeading > 0) sum += 40;
    if (inTitle !== -1) sum += heading === title ? 45 : 15;
    if (inText !== -1) sum += 8;
  }
  if (address.startsWith('guides/') || address.startsWith('concepts/')) sum += 6;
  if (address.startsWith('decisions/') || address === 'requirements.html') sum -= 12;
  return Math.max(sum, 1);
}

function marked(text, words) {
  const parts = document.createDocumentFragment();
  const pattern = new RegExp(
    `(${words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|')})`,
    'gi',
  );
  for (const [i, part] of text.split(pattern).entries()) {
    if (i % 2 === 0) parts.append(part);
    else parts.append(Object.assign(document.createElement('mark'), { textContent: part }));
  }
  return parts;
}

function excerpt(text, words) {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at !== -1), text.length);
  const from = Math.max(0, first - 50);
  return `${from > 0 ? '…' : ''}${text.slice(from, from + 150)}${text.length > from + 150 ? '…' : ''}`;
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    note.textContent = '';
    results.replaceChildren();
    return;
  }
  const index = await load();
  const found = index
    .map((entry) => ({ entry, value: score(entry, words) }))
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value)
    .slice(0, 12);
  note.textContent = found.length === 0 ? 'Nothing has all of these words.' : '';
  results.replaceChildren(
    ...found.map(({ entry: [address, title, anchor, heading, text] }) => {
      const link = document.createElement('a');
      link.href = `${up}${address}${anchor === '' ? '' : `#${anchor}`}`;
      const name = document.createElement('b');
      name.append(marked(heading, words));
      const where = document.createElement('small');
      where.append(marked(`${heading === title ? '' : `${title} · `}${excerpt(text, words)}`, words));
      link.append(name, where);
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
}

function openSearch() {
  dialog.showModal();
  input.select();
  load().catch((error) => (note.textContent = `The search does not work: ${error.message}.`));
}

input.addEventListener('input', search);
$('.search-button').addEventListener('click', openSearch);
dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
dialog.querySelector('form').addEventListener('submit', (event) => {
  // Enter in the field opens the first; the button closes.
  if (event.submitter?.matches('button') && document.activeElement !== input) return;
  event.preventDefault();
  results.querySelector('a')?.click();
});
dialog.querySelector('form button').addEventListener('click', () => dialog.close());
results.addEventListener('click', () => dialog.close());
dialog.addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const stops = [input, ...results.querySelectorAll('a')];
  const next = stops[stops.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
});
addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select');
  if (
    (event.key === '/' && !isTyping && !event.metaKey && !event.ctrlKey) ||
    (event.key === 'k' && (event.metaKey || event.ctrlKey))
  ) {
    event.preventDefault();
    openSearch();
  }
  if (event.key === 'Escape') showMenu(false);
});
