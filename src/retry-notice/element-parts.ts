/** The nodes of one notice that change. */
export interface NoticeParts {
  readonly notice: HTMLElement;
  readonly headline: HTMLElement;
  readonly code: HTMLElement;
  readonly retry: HTMLElement;
  readonly at: HTMLElement;
  readonly message: HTMLElement;
  readonly more: HTMLButtonElement;
  readonly cancel: HTMLButtonElement;
  readonly bar: HTMLElement;
  /** Read out by screen readers; never seen. */
  readonly live: HTMLElement;
}

/** Builds the notice's nodes inside `root`. Node by node and without markup, so that no text can ever become an element. */
export function buildParts(root: ShadowRoot): NoticeParts {
  const notice = element('div', 'notice', {
    part: 'notice',
    role: 'group',
    'aria-label': 'Provider retry',
    'data-state': 'idle',
  });
  // A timer is not live by default, which is the point: it changes every second and is spoken only when asked for.
  const headline = element('p', 'headline', { part: 'headline', role: 'timer' });
  const facts = element('p', 'facts', { part: 'facts' });
  const code = element('span', 'code', { part: 'code' });
  const retry = element('span', 'retry', {});
  const at = element('span', 'at', {});
  const message = element('p', 'message clamped', { part: 'message', id: 'message', dir: 'auto' });
  const more = button('more', { 'aria-expanded': 'false', 'aria-controls': 'message' }, 'Show more');
  const cancel = button('cancel', { part: 'cancel', 'aria-label': 'Cancel the retry' }, 'Cancel');
  const barTrack = element('div', 'bar', { 'aria-hidden': 'true' });
  const bar = element('div', '', { part: 'bar' });
  const live = element('div', 'live', { role: 'status', 'aria-live': 'polite' });

  const body = element('div', 'body', {});
  const head = element('div', 'head', {});
  const words = element('div', 'words', {});
  facts.append(code, retry, at);
  head.append(headline, facts);
  words.append(message, more);
  barTrack.append(bar);
  body.append(warningIcon(), head, words, cancel);
  notice.append(body, barTrack);
  root.append(notice, live);
  return { notice, headline, code, retry, at, message, more, cancel, bar, live };
}

function element(tag: 'div' | 'p' | 'span', className: string, attributes: Record<string, string>): HTMLElement {
  const node = document.createElement(tag);
  if (className !== '') node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function button(className: string, attributes: Record<string, string>, text: string): HTMLButtonElement {
  const node = document.createElement('button');
  node.type = 'button';
  node.className = className;
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

function warningIcon(): SVGElement {
  const icon = document.createElementNS(SVG, 'svg');
  const attributes = {
    class: 'icon',
    viewBox: '0 0 20 20',
    fill: 'none',
    stroke: 'currentColor',
    'aria-hidden': 'true',
  };
  for (const [name, value] of Object.entries(attributes)) icon.setAttribute(name, value);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', 'M10 2.8 18 16.6H2L10 2.8ZM10 8v4M10 14.2v.1');
  path.setAttribute('stroke-width', '1.6');
  path.setAttribute('stroke-linecap', 'round');
  path.setAttribute('stroke-linejoin', 'round');
  icon.append(path);
  return icon;
}
