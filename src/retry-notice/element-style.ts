/**
 * The look of the notice. Colours follow the page's `color-scheme`; `color-scheme: light dark` on the page follows the
 * system. Each `--holdfast-notice-…` property may be set from outside. Text and controls keep 4.5:1 and 3:1 in both.
 */
export const ELEMENT_STYLE = `
:host {
  --background: var(--holdfast-notice-background, light-dark(#fff7d9, #2c240c));
  --border: var(--holdfast-notice-border, light-dark(#e3b93c, #6d5615));
  --accent: var(--holdfast-notice-accent, light-dark(#8a6100, #f3c64b));
  --bar: var(--holdfast-notice-bar, light-dark(#dfa200, #f3c64b));
  --text: var(--holdfast-notice-text, light-dark(#3b2c00, #f8ecc4));
  --quiet: var(--holdfast-notice-quiet, light-dark(#6a5210, #d3bf85));
  display: block;
  position: relative;
  font: inherit;
  line-height: 1.45;
  color: var(--text);
}
:host([hidden]), .notice[data-state='idle'] { display: none; }
* { box-sizing: border-box; }
p { margin: 0; }

.notice {
  position: relative;
  container-type: inline-size;
  padding: 0.85em 1em;
  overflow: hidden;
  background: var(--background);
  border: 1px solid var(--border);
  border-radius: var(--holdfast-notice-radius, 10px);
}
.body {
  display: grid;
  grid-template: 'icon head cancel' auto 'icon words words' auto / auto minmax(0, 1fr) auto;
  gap: 0 0.75em;
  align-items: start;
}
.icon {
  grid-area: icon;
  width: 1.4em;
  height: 1.4em;
  color: var(--accent);
}
.head { grid-area: head; }
.words { grid-area: words; }
.cancel { grid-area: cancel; }
@container (max-width: 26em) {
  .body { grid-template-areas: 'icon head cancel' 'words words words'; }
}
.headline { font-weight: 600; font-variant-numeric: tabular-nums; }
.facts {
  display: flex;
  flex-wrap: wrap;
  font-size: 0.875em;
  color: var(--quiet);
  font-variant-numeric: tabular-nums;
}
.facts span:empty { display: none; }
.facts span:not(:empty) ~ span::before { content: '·'; margin: 0 0.45em; }
.message {
  margin-top: 0.35em;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  unicode-bidi: isolate;
}
.message:empty { display: none; }
.message.clamped {
  display: -webkit-box;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 3;
  overflow: hidden;
}
.message:not(.clamped) { max-height: 20em; overflow-y: auto; }

button {
  font: inherit;
  color: inherit;
  cursor: pointer;
}
button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.cancel {
  min-height: 2.25em;
  padding: 0.2em 0.85em;
  font-weight: 500;
  background: transparent;
  border: 1px solid var(--accent);
  border-radius: 7px;
}
.cancel:hover { background: color-mix(in srgb, var(--accent) 14%, transparent); }
.cancel:active { background: color-mix(in srgb, var(--accent) 24%, transparent); }
.more {
  margin-top: 0.15em;
  padding: 0.15em 0;
  font-size: 0.875em;
  text-decoration: underline;
  text-underline-offset: 0.2em;
  background: none;
  border: 0;
}
[hidden] { display: none; }

.bar {
  position: absolute;
  inset: auto 0 0;
  height: 3px;
}
.bar div {
  height: 100%;
  background: var(--bar);
  transform: scaleX(var(--left, 1));
  transform-origin: left;
  transition: transform 1s linear;
}
.notice:not([data-state='waiting']) .bar { display: none; }
.notice[data-state='cancelled'] { --accent: var(--quiet); }

.live {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

@media (pointer: coarse) {
  .cancel { min-height: 44px; min-width: 44px; }
  .more { min-height: 44px; }
}
@media (prefers-reduced-motion: reduce) {
  .bar div { transition: none; }
}
@media (forced-colors: active) {
  .bar div { background: CanvasText; }
}
`;
