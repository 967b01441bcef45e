import { grouped, outcomeOf, ratioText } from '../result/describe.ts';
import { formatValue } from '../result/format.ts';
import type { Result, Verdict } from '../result/result.ts';
import { type Claim, claimsOf } from './claims.ts';
import { escapeHtml } from './escape.ts';
import { factsOf, machineLine, QUICK_LINE, timeLine } from './facts.ts';
import { plotBars, plotClaims } from './plot-bars.ts';
import { plotLines } from './plot-lines.ts';
import { restOf, SHOWN } from './render-markdown.ts';
import { STYLE } from './report-style.ts';
import type { Report, TopicReport } from './report.ts';

/** The whole report as one file that needs nothing else: no script, no font, no request. */
export function renderHtml(report: Report): string {
  const links = report.topics.map(({ name, title }) => `<a href="#${escapeHtml(name)}">${escapeHtml(title)}</a>`);
  const claims = claimsOf(report);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast: bench</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>Holdfast and its peers, side by side</h1>
<p>${escapeHtml(machineLine(report))}</p>
<p class="muted">All in one run on the same servers, in turns. Again: <code>${escapeHtml(report.command)}</code></p>
${report.isQuick ? `<p class="notice">${escapeHtml(QUICK_LINE)}</p>` : ''}
${failuresOf(report)}
<nav>${claims.length > 0 ? '<a href="#peers">Against other packages</a>' : ''}${links.join('')}</nav>
</header>
${claims.length > 0 ? renderClaims(claims) : ''}
${report.topics.map(renderTopic).join('\n')}
</body>
</html>
`;
}

function failuresOf({ topics }: Report): string {
  return topics
    .filter(({ failure }) => failure !== undefined)
    .map(({ title, failure }) => `<p class="notice bad">${escapeHtml(title)} failed: ${escapeHtml(failure ?? '')}</p>`)
    .join('\n');
}

function renderClaims(claims: readonly Claim[]): string {
  const slower = claims.filter(({ ratio }) => ratio < 1).length;
  const told = `How many times as fast as the best of the others, for every comparison with another package, none left out. In ${slower} of ${claims.length} ours is slower.`;
  return `<section id="peers"><h2>Against other packages</h2><p class="muted">${told}</p><div class="card wide">${plotClaims(claims)}</div></section>`;
}

function renderTopic(topic: TopicReport): string {
  const head = `<h2>${escapeHtml(topic.title)}</h2><p class="muted small">${escapeHtml(`${timeLine(topic)}. ${factsOf(topic).join(' · ')}`)}</p>`;
  const body =
    topic.failure === undefined
      ? grouped(topic.results)
          .map(({ group, results }) => (group === undefined ? renderCards(results) : renderGroup(group, results)))
          .join('\n')
      : `<p class="notice bad">It failed: ${escapeHtml(topic.failure)}</p>`;
  return `<section id="${escapeHtml(topic.name)}">${head}${body}</section>`;
}

function renderCards(results: readonly Result[]): string {
  return `<div class="grid">${results.map(renderCard).join('\n')}</div>`;
}

function renderCard({ measure, along, contestants, verdicts, note }: Result): string {
  const isLine = along !== undefined && contestants.every(({ at }) => typeof at === 'number');
  const plot = isLine ? plotLines(contestants, along) : plotBars(contestants);
  const below = note === undefined ? '' : `<p class="note">${escapeHtml(note)}</p>`;
  return `<article class="card"><h3>${escapeHtml(measure)}</h3><div class="verdicts small">${verdicts.map(renderVerdict).join('')}</div>${plot}${below}</article>`;
}

function renderVerdict(verdict: Verdict): string {
  const outcome = outcomeOf(verdict);
  const ratio = ratioText(verdict);
  const goal = verdict.goal === undefined ? '' : `<span class="muted">goal ${escapeHtml(verdict.goal)}</span> `;
  const judged = outcome === '' ? '' : `<span class="${outcome}">${outcome}</span>`;
  return `<span>${ratio === '' ? '' : `<b>${escapeHtml(ratio)}</b> `}${goal}${judged}</span>`;
}

/** Many calls of one kind: the slowest as a table with bars. */
function renderGroup(group: string, results: readonly Result[]): string {
  const names = results[0]?.contestants.map(({ name }) => name) ?? [];
  const most = Math.max(...results.flatMap(({ contestants }) => contestants.map(({ value }) => value)));
  const rows = results.slice(0, SHOWN).map(({ measure, contestants, verdicts }) => {
    const numbers = contestants.map(
      ({ value, unit }) => `<td class="number">${escapeHtml(formatValue(value, unit))}</td>`,
    );
    const marks = contestants
      .toReversed()
      .map(
        ({ value }, n) =>
          `<rect class="fill-${n === 0 ? 'usual' : 'ours'}" width="${((value / most) * 100).toFixed(2)}%" height="100%" rx="2"/>`,
      );
    const isMissed = verdicts.some(({ isReached }) => isReached === false);
    const judged = isMissed ? ' <span class="missed small">missed</span>' : '';
    return `<tr><td>${escapeHtml(measure)}${judged}</td><td class="hide-narrow" style="width:40%"><svg width="100%" height="12" style="display:block;margin-top:4px" aria-hidden="true">${marks.join('')}</svg></td>${numbers.join('')}</tr>`;
  });
  const goals = new Set(results.flatMap(({ verdicts }) => verdicts.map(({ goal }) => goal)));
  const reached = results.filter(({ verdicts }) => verdicts.every(({ isReached }) => isReached !== false)).length;
  const told = `Goal ${[...goals].join(', ')}: ${reached} of ${results.length} reach it. The slowest first. ${restOf(results).join('')}`;
  return `<div class="card wide"><h3>${escapeHtml(group)}</h3><p class="muted small">${escapeHtml(told)}</p><div class="scroll"><table><thead><tr><th>call</th><th class="hide-narrow"></th>${names.map((name) => `<th class="number">${escapeHtml(name)}</th>`).join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div></div>`;
}
