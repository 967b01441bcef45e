import { escape, type RenderedPage } from './render-page.ts';

/** A page in its place. */
export interface Placed {
  readonly page: RenderedPage;
  /** Its address in the site. */
  readonly address: string;
}

export interface Menu {
  readonly title: string;
  readonly isLong: boolean;
  readonly entries: readonly { readonly title: string; readonly address: string }[];
}

/** The whole HTML of a page. All addresses are relative, so the site works below any path, and from a folder without a server. */
export function layout({ page, address }: Placed, menus: readonly Menu[]): string {
  const up = '../'.repeat(address.split('/').length - 1);
  const all = menus.flatMap(({ entries }) => entries);
  const at = all.findIndex((entry) => entry.address === address);
  const section = menus.find(({ entries }) => entries.some((entry) => entry.address === address))?.title ?? '';
  const title = address === 'index.html' ? 'Holdfast: nothing lost, nothing twice' : `${page.title} · Holdfast`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<meta name="description" content="${escape(page.summary.slice(0, 180))}">
<link rel="icon" href="${up}assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${up}assets/site.css">
<script src="${up}assets/theme.js"></script>
<script src="${up}assets/site.js" defer data-up="${up}"></script>
</head>
<body${address === 'index.html' ? ' class="home"' : ''}>
<a class="skip" href="#content">To the content</a>
<header>
<button type="button" class="plain menu-button" aria-expanded="false" aria-controls="menu" aria-label="Menu"><svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true"><path d="M3 5.5h14M3 10h14M3 14.5h14" stroke="currentColor" stroke-width="1.6" fill="none" stroke-linecap="round"/></svg></button>
<a class="brand" href="${up}index.html"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M12 2.5v15M6 7.5h12M4 13c0 5 3.6 8.5 8 8.5s8-3.500 8-8.5" fill="none" stroke="currentColor" stroke-width="2.200" stroke-linecap="round"/></svg>Holdfast</a>
<button type="button" class="search-button"><svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true"><circle cx="9" cy="9" r="5.500" fill="none" stroke="currentColor" stroke-width="1.600"/><path d="m13 13 4 4" stroke="currentColor" stroke-width="1.600" stroke-linecap="round"/></svg><span>Search</span><kbd>/</kbd></button>
<button type="button" class="plain theme-button" aria-label="Change the theme"><svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"><circle cx="10" cy="10" r="6.500" fill="none" stroke="currentColor" stroke-width="1.600"/><path d="M10 3.500a6.500 6.500 0 0 1 0 13z" fill="currentColor"/></svg></button>
</header>
<div class="frame">
<nav id="menu" aria-label="Pages">
${menus.map((menu) => menuPart(menu, address, up)).join('\n')}
</nav>
<main id="content" tabindex="-1">
<article>
${section === '' ? '' : `<p class="where">${escape(section)}</p>`}
${page.html}
</article>
${neighbours(all[at - 1], all[at + 1], up)}
</main>
${contents(page)}
</div>
<dialog class="search" aria-label="Search">
<form method="dialog"><input type="search" aria-label="Search the documentation" placeholder="Search the documentation" autocomplete="off" spellcheck="false" aria-controls="results"><button class="plain" aria-label="Close">Esc</button></form>
<p class="search-note" role="status"></p>
<ol id="results"></ol>
</dialog>
</body>
</html>
`;
}

function menuPart({ title, isLong, entries }: Menu, address: string, up: string): string {
  const isOpen = !isLong || entries.some((entry) => entry.address === address);
  const items = entries.map((entry) => {
    const current = entry.address === address ? ' aria-current="page"' : '';
    return `<li><a href="${up}${entry.address}"${current}>${escape(entry.title)}</a></li>`;
  });
  return `<details${isOpen ? ' open' : ''}><summary>${escape(title)}</summary><ul>${items.join('')}</ul></details>`;
}

function contents({ sections }: RenderedPage): string {
  const below = sections.filter(({ depth, anchor }) => anchor !== '' && (depth === 2 || depth === 3));
  const shown = below.length > 40 ? below.filter(({ depth }) => depth === 2) : below;
  if (shown.length < 2) return '<aside></aside>';
  const items = shown.map(
    ({ anchor, heading, depth }) => `<li class="depth-${depth}"><a href="#${anchor}">${escape(heading)}</a></li>`,
  );
  return `<aside><nav aria-label="On this page"><p>On this page</p><ul>${items.join('')}</ul></nav></aside>`;
}

interface Entry {
  readonly title: string;
  readonly address: string;
}

function neighbours(before: Entry | undefined, after: Entry | undefined, up: string): string {
  const link = (entry: Entry | undefined, word: string, rel: string): string =>
    entry === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${up}${entry.address}"><small>${word}</small>${escape(entry.title)}</a>`;
  return `<nav class="neighbours" aria-label="Next and previous">${link(before, 'Previous', 'prev')}${link(after, 'Next', 'next')}</nav>`;
}
