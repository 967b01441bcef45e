/** The look of the page: the colours, sizes and spaces of the console. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f7f8f9, #0e1114);
  --paper: light-dark(#ffffff, #14181c);
  --sunken: light-dark(#f0f2f4, #0f1316);
  --line: light-dark(#e2e5e9, #262d34);
  --text: light-dark(#1a1f25, #e4e8ec);
  --muted: light-dark(#59626d, #9ba5b0);
  --accent: light-dark(#0b667f, #58c7df);
  --pending: light-dark(#475569, #a9b6c9);
  --flight: light-dark(#1d4ed8, #80abff);
  --retry: light-dark(#92400e, #efb455);
  --ok: light-dark(#166534, #62d48c);
  --failed: light-dark(#b91c1c, #ff9090);
  --parked: light-dark(#6d28d9, #c3a6ff);
  --ok-ground: light-dark(#e9f5ed, #12261a);
  --failed-ground: light-dark(#fdeeee, #2e1718);
  --mono: ui-monospace, 'SF Mono', SFMono-Regular, 'Cascadia Code', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  font: 13px/20px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif;
  font-variant-numeric: tabular-nums;
  -webkit-text-size-adjust: 100%;
  color: var(--text);
  background: var(--ground);
}
*, *::before, *::after { box-sizing: border-box; }
body, h1, h2, p, figure, dl, dd, ol { margin: 0; padding: 0; }
main { max-width: 1040px; margin: 0 auto; padding: 24px 16px 48px; display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
header { display: grid; gap: 8px; }
h1 { font-size: 22px; line-height: 32px; font-weight: 600; letter-spacing: -0.01em; }
h2 { font-size: 13px; line-height: 20px; font-weight: 600; }
.muted { color: var(--muted); }
.verdict { display: flex; gap: 10px; align-items: baseline; padding: 10px 14px; border-radius: 6px; font-weight: 600; }
.verdict.held { color: var(--ok); background: var(--ok-ground); }
.verdict.broken { color: var(--failed); background: var(--failed-ground); }
.card, figure { background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: 12px 16px 16px; min-width: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 1px; padding: 0; overflow: hidden;
  background: var(--line); }
.figures div { background: var(--paper); padding: 12px 16px; }
.figures dt { color: var(--muted); }
.figures dd { font-size: 22px; line-height: 30px; font-weight: 600; letter-spacing: -0.01em; }
.figures small { display: block; font-size: 12px; line-height: 16px; font-weight: 400; color: var(--muted); letter-spacing: 0; }
.card > .figures { margin-top: 10px; border: 1px solid var(--line); border-radius: 6px; }
.good { color: var(--ok); }
.bad { color: var(--failed); }
figcaption { display: flex; flex-wrap: wrap; gap: 4px 16px; justify-content: space-between; margin-bottom: 12px; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 12px; color: var(--muted); }
.key { display: inline-flex; align-items: center; gap: 6px; }
.key i { width: 10px; height: 10px; border-radius: 2px; }
.plot { position: relative; height: calc(182px + 18px * var(--rows)); padding-top: calc(4px + 18px * var(--rows)); }
.plot svg { display: block; width: 100%; height: 100%; overflow: visible; }
.plot .grid { stroke: var(--line); fill: none; vector-effect: non-scaling-stroke; }
.plot .line { fill: none; stroke-width: 1.75; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.plot .top { position: absolute; top: calc(6px + 18px * var(--rows)); right: 4px; font-size: 11px; line-height: 14px; color: var(--muted);
  background: var(--paper); padding: 0 4px; border-radius: 3px; }
.mark { position: absolute; top: 8px; bottom: 0; min-width: 1px; background: color-mix(in srgb, var(--retry) 16%, transparent);
  border-left: 1px solid color-mix(in srgb, var(--retry) 70%, transparent); }
.mark b { position: absolute; left: -9px; width: 17px; height: 17px; border-radius: 9px; font-size: 10px; line-height: 17px;
  text-align: center; font-weight: 600; color: var(--paper); background: var(--retry); }
.times { display: flex; justify-content: space-between; margin-top: 6px; font-size: 11px; line-height: 16px; color: var(--muted); }
.marks { list-style: none; display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 2px 24px; margin-top: 12px;
  padding-top: 12px; border-top: 1px solid var(--line); }
.marks li { display: flex; gap: 8px; align-items: baseline; }
.marks b { flex: none; width: 17px; height: 17px; border-radius: 9px; font-size: 10px; line-height: 17px; text-align: center;
  color: var(--paper); background: var(--retry); }
.marks span { margin-left: auto; color: var(--muted); white-space: nowrap; }
.bars { display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content; gap: 6px 12px; align-items: center; margin-top: 12px; }
.bars i { display: block; height: 14px; border-radius: 3px; min-width: 3px; background: color-mix(in srgb, var(--accent) 35%, transparent); }
.bars i i { background: var(--accent); }
.bars .of { background: var(--sunken); border-radius: 3px; }
.bars small { font-size: 12px; color: var(--muted); text-align: right; }
table { width: 100%; border-collapse: collapse; margin-top: 8px; }
th { text-align: left; font-weight: 600; font-size: 12px; color: var(--muted); padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); }
td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
th.n, td.n { text-align: right; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
td.name { font-family: var(--mono); font-size: 12px; white-space: nowrap; }
.pairs { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 16px; margin-top: 8px; }
.pairs dt { color: var(--muted); }
.pairs dd { overflow-wrap: anywhere; }
.two { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); }
@media (max-width: 600px) {
  main { padding: 16px 10px 32px; gap: 12px; }
  h1 { font-size: 19px; line-height: 28px; }
  .card, figure { padding: 10px 12px 12px; }
  .figures { padding: 0; grid-template-columns: 1fr 1fr; }
  .figures div { padding: 10px 12px; }
  .figures div:last-child:nth-child(odd) { grid-column: 1 / -1; }
  .faults td.about { display: none; }
  .faults th.about { display: none; }
  .bars { grid-template-columns: max-content minmax(0, 1fr); }
  .bars small { grid-column: 2; text-align: left; margin-top: -4px; }
  .plot { height: calc(142px + 18px * var(--rows)); }
  .mark b { width: 14px; height: 14px; line-height: 14px; left: -7px; font-size: 9px; }
}
@media print {
  :root { background: none; }
  .card, figure { break-inside: avoid; }
}
`;
