/** The look of the report: the names and colours of the console (console/src/styles/base.css), on a page of its own. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f7f8f9, #0e1114);
  --paper: light-dark(#ffffff, #14181c);
  --sunken: light-dark(#f0f2f4, #0f1316);
  --line: light-dark(#e2e5e9, #262d34);
  --line-strong: light-dark(#c9ced5, #39424c);
  --text: light-dark(#1a1f25, #e4e8ec);
  --muted: light-dark(#59626d, #9ba5b0);
  --accent: light-dark(#0b667f, #58c7df);
  --peer: light-dark(#8d98a6, #7d8997);
  --pending: light-dark(#475569, #a9b6c9);
  --retry: light-dark(#92400e, #efb455);
  --ok: light-dark(#166534, #62d48c);
  --failed: light-dark(#b91c1c, #ff9090);
  --parked: light-dark(#6d28d9, #c3a6ff);
  --mono: ui-monospace, 'SF Mono', SFMono-Regular, 'Cascadia Code', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  --radius: 6px;
  font: 13px/20px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif;
  font-variant-numeric: tabular-nums;
  -webkit-text-size-adjust: 100%;
  color: var(--text);
  background: var(--ground);
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 24px 16px 64px; }
h1, h2, h3, p, ul, dl, dd, figure { margin: 0; padding: 0; }
ul { list-style: none; }
h1 { font-size: 22px; line-height: 32px; font-weight: 600; letter-spacing: -0.01em; }
h2 { font-size: 18px; line-height: 28px; font-weight: 600; letter-spacing: -0.01em; }
h3 { font-size: 13px; line-height: 20px; font-weight: 600; overflow-wrap: anywhere; }
a { color: var(--accent); }
code { font-family: var(--mono); font-size: 12px; overflow-wrap: anywhere; }
.muted { color: var(--muted); }
.small { font-size: 12px; line-height: 18px; }
header p { margin-top: 4px; }
nav { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 12px; }
section { margin-top: 40px; }
section > h2 + p { margin-top: 2px; max-width: 110ch; }
.notice { margin-top: 12px; padding: 8px 12px; border-left: 3px solid var(--retry); background: var(--paper); border-radius: 0 var(--radius) var(--radius) 0; }
.notice.bad { border-color: var(--failed); }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: var(--radius); padding: 12px 16px 16px; min-width: 0; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr)); gap: 12px; margin-top: 12px; }
.wide { margin-top: 12px; }
.verdicts { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 2px; }
.verdicts b { font-weight: 600; }
.reached { color: var(--ok); }
.missed { color: var(--failed); }
figure { margin-top: 10px; }
.bar { display: grid; grid-template-columns: minmax(0, 13em) 1fr 6.5em; gap: 0 12px; align-items: center; padding: 2px 0; }
.bar .name { overflow-wrap: anywhere; }
.bar .number { text-align: right; }
.bar.ours .name, .bar.ours .number { font-weight: 600; }
.bar svg { display: block; width: 100%; height: 16px; overflow: visible; }
.claims .bar { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr) 5em; padding: 4px 0; }
.claims .small { display: block; }
.place { margin-top: 8px; color: var(--muted); font-size: 12px; line-height: 16px; }
.fill-ours { fill: var(--accent); }
.fill-peer { fill: var(--peer); }
.fill-bare { fill: var(--line-strong); }
.fill-usual { fill: var(--accent); opacity: 0.45; }
.slower { fill: var(--failed); }
.faster { fill: var(--accent); }
.one { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 2 2; }
.whisker { stroke: var(--text); stroke-width: 1.25; opacity: 0.75; }
.halo { stroke: var(--paper); stroke-width: 3; opacity: 0.45; }
.lines { display: block; width: 100%; max-width: 640px; height: auto; }
.lines text { font-size: 11px; fill: var(--muted); }
.lines .axis { stroke: var(--line); stroke-width: 1; }
.lines .trace { fill: none; stroke-width: 2; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin-top: 4px; font-size: 12px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.note { margin-top: 10px; font-size: 12px; line-height: 18px; color: var(--muted); max-width: 90ch; }
.scroll { overflow-x: auto; margin-top: 12px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; font-size: 12px; color: var(--muted); }
td.number, th.number { text-align: right; white-space: nowrap; }
@media (max-width: 600px) {
  .bar, .claims .bar { grid-template-columns: 1fr auto; padding: 4px 0; }
  .bar .name { grid-column: 1; grid-row: 1; }
  .bar .number { grid-column: 2; grid-row: 1; }
  .bar svg { grid-column: 1 / -1; grid-row: 2; height: 12px; }
  .hide-narrow { display: none; }
}
@media print { body { max-width: none; } .card { break-inside: avoid; } nav { display: none; } }
`;
