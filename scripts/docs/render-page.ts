import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import http from 'highlight.js/lib/languages/http';
import json from 'highlight.js/lib/languages/json';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { Marked, type Tokens } from 'marked';
import { Anchors } from './anchors.ts';

const LANGUAGES = { bash, http, json, shell, sql, typescript, xml, yaml };
const NAMES: Readonly<Record<string, string>> = {
  sh: 'bash',
  console: 'shell',
  ts: 'typescript',
  js: 'typescript',
  yml: 'yaml',
  html: 'xml',
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** What a page needs to know of the others. */
export interface Surroundings {
  /** The address for a link as it is written, relative to the page; nothing where it leads out of the site. */
  readonly linkTo: (target: string) => string | undefined;
  /** The text of a drawing, by its path as it is written. */
  readonly drawing: (target: string) => string;
}

interface Section {
  /** Empty for what stands before the first heading below the title. */
  readonly anchor: string;
  readonly heading: string;
  readonly depth: number;
  /** Without any marks, for the search. */
  readonly text: string;
}

export interface RenderedPage {
  readonly title: string;
  /** The first paragraph, without any marks. */
  readonly summary: string;
  readonly html: string;
  readonly sections: readonly Section[];
}

/** Makes HTML of a page, with headings that can be linked, code that is coloured and drawings that follow the theme. */
export function renderPage(markdown: string, { linkTo, drawing }: Surroundings): RenderedPage {
  const anchors = new Anchors();
  const sections: { anchor: string; heading: string; depth: number; texts: string[] }[] = [];
  let title = '';
  let summary = '';
  const marked = new Marked({
    walkTokens: (token) => {
      const last = sections.at(-1);
      if (token.type === 'paragraph' && summary === '' && title !== '') summary = plain(token.text as string);
      if (token.type === 'heading') {
        const heading = plain((token as Tokens.Heading).text);
        const isTitle = sections.length === 0;
        const anchor = anchors.next((token as Tokens.Heading).text);
        if (isTitle) title = heading;
        sections.push({ anchor: isTitle ? '' : anchor, heading, depth: (token as Tokens.Heading).depth, texts: [] });
        Object.assign(token, { anchor });
      } else if (last !== undefined && ['paragraph', 'code', 'table', 'list'].includes(token.type)) {
        last.texts.push(plain(token.raw));
      }
    },
    renderer: {
      heading(token) {
        const { anchor } = token as Tokens.Heading & { readonly anchor: string };
        const inner = this.parser.parseInline(token.tokens);
        if (token.depth === 1) return `<h1 id="${anchor}">${inner}</h1>\n`;
        return `<h${token.depth} id="${anchor}">${inner}<a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${token.depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const address = linkTo(href);
        if (address === undefined)
          return `<span class="in-repository" title="In the repository: ${escape(href)}">${inner}</span>`;
        return `<a href="${escape(address)}">${inner}</a>`;
      },
      image: ({ href, text }) => figureOf(href, text, linkTo, drawing),
      code: ({ text, lang }) => codeBlock(text, lang ?? ''),
      table(token) {
        const row = (cells: readonly Tokens.TableCell[], tag: string): string =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const isNameless = token.header.every(({ text }) => text.trim() === '');
        const head = isNameless ? '' : `<thead>${row(token.header, 'th')}</thead>`;
        return `<div class="table" tabindex="0" role="region" aria-label="Table"><table>${head}<tbody>${token.rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></div>\n`;
      },
      html: ({ text }) => pictures(text.replaceAll(/<!--[^]*?-->/g, ''), linkTo),
    },
  });
  const html = marked.parse(markdown, { async: false });
  return {
    title,
    summary,
    html,
    sections: sections.map(({ anchor, heading, depth, texts }) => ({ anchor, heading, depth, text: texts.join(' ') })),
  };
}

/** A drawing goes into the page itself, where it takes the colours of the theme; anything else stays a picture. */
function figureOf(href: string, alt: string, linkTo: Surroundings['linkTo'], drawing: Surroundings['drawing']): string {
  if (!href.endsWith('.svg')) return `<img src="${escape(linkTo(href) ?? href)}" alt="${escape(alt)}" loading="lazy">`;
  const svg = drawing(href)
    .replace(/<style>[^]*?<\/style>\n?/, '')
    .replace(/<title id[^]*?<\/title>\n?/, '')
    .replace(/ aria-labelledby="[^"]*"/, ` aria-label="${escape(alt)}"`)
    .replace(/ width="\d+" height="\d+"/, '');
  return `<span class="drawing" tabindex="0" role="group" aria-label="Drawing">${svg.trim()}</span>`;
}

/** The two of a `<picture>` as two images, of which the theme shows one. */
function pictures(html: string, linkTo: Surroundings['linkTo']): string {
  const address = (path: string): string => escape(linkTo(path) ?? path);
  return html.replaceAll(
    /<picture>\s*<source[^>]*srcset="([^"]+)"[^>]*>\s*<img src="([^"]+)"([^>]*)>\s*<\/picture>/g,
    (_, dark: string, light: string, rest: string) =>
      `<img class="when-light" src="${address(light)}"${rest} loading="lazy"><img class="when-dark" src="${address(dark)}"${rest} loading="lazy">`,
  );
}

function codeBlock(text: string, info: string): string {
  const [language = '', mark = ''] = info.split(' ');
  const file = /^\/\/ (\S+\.ts)\n/.exec(text)?.[1];
  const terminal = /^terminal-(\d)$/.exec(mark)?.[1];
  const label = file ?? (terminal === undefined ? undefined : `terminal ${terminal}`);
  const code = file === undefined ? text : text.slice(text.indexOf('\n') + 1);
  const name = NAMES[language] ?? language;
  const coloured = hljs.getLanguage(name) === undefined ? escape(code) : hljs.highlight(code, { language: name }).value;
  const head = label === undefined ? '' : `<span class="code-label">${escape(label)}</span>`;
  const kind = language === 'text' ? ' output' : '';
  return `<div class="code${kind}">${head}<pre tabindex="0"><code>${coloured}</code></pre></div>\n`;
}

/** Without the marks of Markdown and HTML. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/<!--[^]*?-->|<[^>]+>/g, ' ')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/```\w*[^\n]*|[`*|]|^\|?[-|: ]+$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** A text where HTML is. */
export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
