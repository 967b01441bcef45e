import { describe, expect, test } from 'vitest';
import { claimsOf, renderClaims } from './claims.ts';
import { niceTop } from './plot-lines.ts';
import { renderHtml } from './render-html.ts';
import { renderMarkdown, renderTopic } from './render-markdown.ts';
import { renderText } from './render-text.ts';
import { replaceSections } from './replace-sections.ts';
import { exitCodeOf } from './report.ts';
import { sampleReport } from './sample-report.ts';

const report = sampleReport();
const [engine, operate, brokers] = report.topics;
if (!engine || !operate || !brokers) throw new Error('the sample lacks a topic');

describe('the claims of the bench', () => {
  test('are all comparisons with other packages, the slower ones too, each with its command', () => {
    expect(claimsOf(report)).toEqual([
      {
        measure: 'drain of 60,000 | one process',
        against: 'pg-boss',
        ratio: 1.5,
        command: 'npm run bench -- engine drain',
      },
      {
        measure: 'drain by several (processes: 4)',
        against: 'pg-boss',
        ratio: 0.75,
        command: 'npm run bench -- engine workers',
      },
    ]);
    expect(renderClaims(report).split('\n').slice(2)).toEqual([
      '| drain of 60,000 \\| one process | pg-boss | 1.50 | `npm run bench -- engine drain` |',
      '| drain by several (processes: 4) | pg-boss | 0.75, slower | `npm run bench -- engine workers` |',
    ]);
  });

  test('are not made from a quick run', () => {
    expect(renderClaims(sampleReport({ isQuick: true }))).not.toMatch(/\d/);
  });
});

describe('the report of the bench', () => {
  test('as Markdown has a row for each verdict, a table for each series and the slowest calls first', () => {
    expect(renderTopic(engine, false))
      .toBe(`16 November 2026, 03:22 to 03:28 UTC, load 1.7 before and 2 after; PostgreSQL 15.18, fsync on, rounds 3, pg-boss 12.32.1.

| measure | ours | others | ratio | goal |
|---|---|---|---|---|
| drain of 60,000 \\| one process | 30,000/s | pg-boss 20,000/s, other &lt;b> 10,000/s | 1.50 × pg-boss | ≥ 3: missed |
| … | 30,000/s | by hand 60,000/s | 0.50 × by hand | ≥ 0.5: reached |
| drain by several | 10,000/s at 1, 9,000/s at 4 | – | 0.90 × holdfast at 1 | ≥ 0.8: reached |
| … | 9,000/s | pg-boss 12,000/s | 0.75 × pg-boss at 4 | none |

| processes | 1 | 4 |
|---|---|---|
| holdfast | 10,000/s | 9,000/s |
| pg-boss | 5,000/s | 12,000/s |

- *drain of 60,000 | one process:* Ours keeps "order" & history.`);
    const calls = renderTopic(operate, false).split('\n').slice(2);
    expect(calls[0]).toBe('| reads over HTTP, the slowest first | p50 | p95 | goal |');
    expect(calls[2]).toBe('| metrics | 168 ms | 335 ms | p95 < 300 ms: missed |'.replace('<', '&lt;'));
  });

  test('shows a topic that failed as failed, in every form', () => {
    expect(renderText(report)).toContain('FAILED: Kafka did not start: <no java>');
    expect(renderMarkdown(report)).toContain('**It failed:** Kafka did not start: &lt;no java>');
    expect(renderHtml(report)).toContain('About brokers failed: Kafka did not start: &lt;no java&gt;');
  });

  test('as HTML escapes every name, needs nothing from elsewhere and runs no script', () => {
    const html = renderHtml(report);
    expect(html).toContain('a &lt;fast&gt; one');
    expect(html).toContain('other &lt;b&gt;');
    expect(html).toContain('&quot;order&quot; &amp; history');
    expect(html).not.toMatch(/<b>.*<b>other|<fast>|<no java>|<script|https?:|url\(|@import|<link/);
  });

  test('as HTML draws bars as long as their share, the range of the rounds, and lines for a series of numbers', () => {
    const html = renderHtml(report);
    // 60,000 is the longest of the drain.
    expect(html).toContain('<rect class="fill-ours" width="50.00%"');
    expect(html).toContain('<rect class="fill-bare" width="100.00%"');
    expect(html).toContain('<line class="whisker" x1="48.33%" x2="55.00%"');
    expect(html.match(/<polyline/g)).toHaveLength(2);
    // Half as fast and twice as fast are equally far from the line at 1.
    expect(html).toMatch(/class="faster" x="50.00%"/);
    expect(html).toMatch(/class="slower" x="\d\d\.\d\d%"/);
  });

  test('of a quick run says so, in every form', () => {
    const quick = sampleReport({ isQuick: true });
    for (const render of [renderHtml, renderMarkdown, renderText]) expect(render(quick)).toMatch(/quick run/i);
    for (const render of [renderHtml, renderMarkdown, renderText]) expect(render(report)).not.toMatch(/quick run/i);
  });

  test('of one topic ends with 1 when a goal is missed, of several when one has failed', () => {
    expect(exitCodeOf(report)).toBe(1);
    expect(exitCodeOf({ ...report, topics: [engine] })).toBe(1);
    expect(exitCodeOf({ ...report, topics: [engine, operate] })).toBe(0);
    expect(exitCodeOf({ ...report, topics: [{ ...engine, results: [] }] })).toBe(0);
  });

  test('has axes that end at round numbers', () => {
    expect([1, 1.5, 38_214, 45_000, 61_000, 99_000].map(niceTop)).toEqual([1, 2, 40_000, 60_000, 80_000, 100_000]);
  });
});

describe('the sections of a page', () => {
  const sections = new Map([['engine', '| new |']]);

  test('are replaced between their marks, and nothing else is', () => {
    const page = 'Before $& it.\n<!-- bench engine -->\n\n| old |\n\n<!-- /bench -->\nAfter.\n';
    const written = replaceSections(page, sections);
    expect(written).toBe('Before $& it.\n<!-- bench engine -->\n\n| new |\n\n<!-- /bench -->\nAfter.\n');
    expect(replaceSections(written, sections)).toBe(written);
  });

  test('that nobody writes, that are not closed, and a page without any are errors', () => {
    expect(() => replaceSections('<!-- bench other -->\nx\n<!-- /bench -->', sections)).toThrow('section "other"');
    expect(() => replaceSections('<!-- bench engine -->\nx\n', sections)).toThrow('1 sections are opened and 0 closed');
    expect(() => replaceSections('# A page\n', sections)).toThrow('no section to write');
  });
});
