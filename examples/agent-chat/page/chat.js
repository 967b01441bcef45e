// @ts-check
import { openChat } from './chat-client.js';
import { ProviderPanel } from './provider-panel.js';
import { Transcript } from './transcript.js';

/** @typedef {import('./chat-client.d.ts').ChatClient} ChatClient */

const $ = /** @param {string} id */ (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const text = /** @type {HTMLTextAreaElement} */ ($('text'));
const send = /** @type {HTMLButtonElement} */ ($('send'));
const transports = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('#transport input'));

// Conversation and transport are in the address, so that a reload or a shared link shows the same.
const place = new URLSearchParams(location.hash.slice(1));

const panel = new ProviderPanel({
  form: /** @type {HTMLFormElement} */ ($('controls')),
  plan: $('plan'),
  state: $('controls-state'),
  requests: $('requests'),
  none: $('no-requests'),
  forecast: $('forecast'),
  conversationId: () => place.get('c') ?? '',
});
const transcript = new Transcript({
  list: $('transcript'),
  noticePlace: $('notice-place'),
  scroll: $('scroll'),
  onTryAgain(question) {
    if (ask(question)) text.focus();
  },
});

/** @type {ChatClient} */
let chat;
/** @type {string | undefined} */
let runningTurn;
let connected = false;

open();

/** (Re)opens the conversation that the address names. */
function open() {
  chat?.close();
  if (!place.has('c')) place.set('c', crypto.randomUUID());
  const transport = place.get('t') === 'lines' ? 'lines' : 'ws';
  history.replaceState(null, '', `#${place}`);
  for (const input of transports) input.checked = input.value === transport;
  chat = openChat({
    url: location.origin,
    transport,
    conversationId: place.get('c') ?? '',
    onConnection(state) {
      const words = { connecting: 'Connecting', open: 'Connected', lost: 'Connection lost, trying again' };
      connected = state === 'open';
      $('connection').textContent = words[state];
      $('connection').dataset.state = state;
      drawComposer();
    },
    onEvent(event) {
      if (event.type === 'turn-start') runningTurn = event.turnId;
      if (event.type === 'turn-end' || event.type === 'conversation') runningTurn = undefined;
      transcript.show(event);
      if (event.type !== 'text' || runningTurn === undefined) void panel.refresh();
      $('empty').hidden = $('transcript').childElementCount > 0;
      drawComposer();
    },
  });
}

function drawComposer() {
  send.hidden = runningTurn !== undefined;
  $('stop').hidden = runningTurn === undefined;
  send.disabled = !connected || text.value.trim() === '';
}

/** @param {string} question */
function ask(question) {
  if (question.trim() === '' || runningTurn !== undefined || !connected) return false;
  return chat.ask(question);
}

function askWhatIsWritten() {
  if (ask(text.value)) text.value = '';
  drawComposer();
}

function cancel() {
  if (runningTurn === undefined) return false;
  text.focus();
  return chat.cancel(runningTurn);
}

$('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  askWhatIsWritten();
});
text.addEventListener('input', drawComposer);
text.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  askWhatIsWritten();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  if ($('panel').classList.contains('open')) togglePanel(false);
  else cancel();
});
$('stop').addEventListener('click', cancel);
transcript.notice.addEventListener('holdfast-cancel', (event) => {
  // Without a connection nothing is cancelled, and the notice must not say so.
  if (!cancel()) event.preventDefault();
});
for (const button of $('suggestions').querySelectorAll('button')) {
  button.addEventListener('click', () => ask(button.textContent ?? ''));
}
for (const input of transports) {
  input.addEventListener('change', () => {
    place.set('t', input.value);
    open();
  });
}
$('new-chat').addEventListener('click', () => {
  place.delete('c');
  open();
  text.focus();
});
$('panel-toggle').addEventListener('click', () => togglePanel(!$('panel').classList.contains('open')));

/** @param {boolean} isOpen */
function togglePanel(isOpen) {
  $('panel').classList.toggle('open', isOpen);
  $('panel-toggle').setAttribute('aria-expanded', String(isOpen));
}

const THEMES = ['system', 'light', 'dark'];
setTheme(localStorage.getItem('theme') ?? 'system');
$('theme').addEventListener('click', () => {
  const current = document.documentElement.dataset.theme ?? 'system';
  setTheme(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? 'system');
});

/** @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $('theme').title = `Theme: ${theme}`;
  $('theme').setAttribute('aria-label', `Theme: ${theme}`);
  localStorage.setItem('theme', theme);
}

text.focus();
