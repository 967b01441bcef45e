import type { DrillLedger, LedgerHttp, LedgerReport } from '../ledger.ts';
import { recoveriesOf } from '../recoveries.ts';
import { html, Html } from './escape-html.ts';
import { duration, figure, size } from './figures.ts';
import { plot, type PlotMark } from './plot.ts';
import { STYLE } from './style.ts';

/** More than these are drawn without numbers. */
const MOST_NUMBERED = 20;

const MEGABYTE = 1_048_576;

/** The ledger of a drill as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere. */
export function ledgerPage(report: LedgerReport): string {
  const { name, about, held, problem, tookMs, ledger, checked } = report;
  const verdict = held
    ? 'Held: nothing lost, nothing twice, keys in order.'
    : `Did not hold: ${problem ?? 'it was stopped'}.`;
  const when = ledger && html`${ledger.startedAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')} · `;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <title>${name}: ${held ? 'held' : 'did not hold'}</title>
        <style>
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        <main>
          <header>
            <p class="muted">Holdfast drill</p>
            <h1>${name}</h1>
            <p>${about}</p>
            <p class="muted">${when}took ${duration(tookMs)}</p>
            <p class="verdict ${held ? 'held' : 'broken'}">${held ? '✓' : '✗'} <span>${verdict}</span></p>
          </header>
          ${ledger && figuresOf(ledger)} ${ledger?.counts.http && httpCard(ledger.counts.http)}
          ${ledger && throughputOf(ledger)} ${ledger && recoveriesCard(ledger)} ${ledger && faultsCard(ledger)}
          ${checkedCard(checked)} ${ledger && resourcesOf(ledger)}
          ${ledger && html`<div class="two">${pairsCard('Settings', ledger.settings)}${pairsCard('Where it ran', ledger.about)}</div>`}
        </main>
      </body>
    </html> `;
  return page.text;
}

function figuresOf({ counts }: DrillLedger): Html {
  const { suppressed } = counts;
  const repeats = suppressed.sends + suppressed.arrivals + suppressed.lateResults + suppressed.replays;
  const kinds = `${suppressed.sends} sends, ${suppressed.arrivals} messages, ${suppressed.lateResults} late results, ${suppressed.replays} replays`;
  return html`<dl class="card figures">
    <div>
      <dt>Sent</dt>
      <dd>${figure(counts.sent)}<small>${figure(counts.acknowledged)} acknowledged</small></dd>
    </div>
    <div>
      <dt>Effects</dt>
      <dd>${figure(counts.effects)}<small>of ${figure(counts.expectedEffects)}</small></dd>
    </div>
    <div>
      <dt>Lost</dt>
      ${zero(counts.lost)}
    </div>
    <div>
      <dt>Second effects</dt>
      ${zero(counts.secondEffects)}
    </div>
    <div>
      <dt>Order violations</dt>
      ${zero(counts.orderViolations)}
    </div>
    <div>
      <dt>Dead letters</dt>
      <dd>${figure(counts.deadLetters)}<small>poison ${figure(counts.poison)}</small></dd>
    </div>
    <div>
      <dt>Repeats without effect</dt>
      <dd>${figure(repeats)}<small>${kinds}</small></dd>
    </div>
  </dl>`;
}

/** What clients posted over HTTP, and what they got. */
function httpCard(http: LedgerHttp): Html {
  const { posts, rows, messages, secondRows, fromRedis, fromDatabase, refused, lost, different, audited } = http;
  return html`<section class="card">
    <h2>Over HTTP</h2>
    <p class="muted">
      Each write is a POST with an Idempotency-Key. Clients post again under the same key until they get a response,
      post old keys again, and post every accepted key once more at the end.
    </p>
    <dl class="figures">
      <div>
        <dt>Posts</dt>
        <dd>${figure(posts)}<small>${figure(refused)} refused, ${figure(lost)} without a response</small></dd>
      </div>
      <div>
        <dt>Rows</dt>
        <dd>${figure(rows)}<small>${figure(messages)} messages</small></dd>
      </div>
      <div>
        <dt>Second rows</dt>
        ${zero(secondRows)}
      </div>
      <div>
        <dt>Different replies</dt>
        ${zero(different)}
      </div>
      <div>
        <dt>Stored replies</dt>
        <dd>
          ${figure(fromRedis + fromDatabase)}<small
            >${figure(fromRedis)} from Redis, ${figure(fromDatabase)} from the database</small
          >
        </dd>
      </div>
      <div>
        <dt>Posted again at the end</dt>
        <dd>${figure(audited)}<small>keys</small></dd>
      </div>
    </dl>
  </section>`;
}

/** What must be none. */
function zero(value: number): Html {
  return html`<dd class="${value === 0 ? 'good' : 'bad'}">${figure(value)}</dd>`;
}

function throughputOf({ timeline, marks }: DrillLedger): Html {
  const { stepMs, sent, effects } = timeline;
  const lengthMs = Math.max(stepMs, (effects.length - 1) * stepMs);
  const perSecond = (values: readonly number[]): readonly number[] => values.map((value) => (value * 1_000) / stepMs);
  const isNumbered = marks.length <= MOST_NUMBERED;
  const drawn = marks.map(({ fault, atMs, lastedMs }, at): PlotMark => {
    const from = Math.min(1, atMs / lengthMs);
    const label = isNumbered ? String(at + 1) : undefined;
    return {
      at: from,
      width: Math.min(1 - from, lastedMs / lengthMs),
      label,
      title: `${fault}, after ${duration(atMs)}`,
    };
  });
  const listed = marks.map(
    ({ fault, atMs, recoveredMs }, at) =>
      html`<li>
        <b>${at + 1}</b>${fault}<span
          >${duration(atMs)}${recoveredMs === undefined ? '' : `, back in ${duration(recoveredMs)}`}</span
        >
      </li>`,
  );
  const drawing = plot({
    title: 'Each second',
    lines: [
      { name: 'effects', tone: 'accent', values: perSecond(effects), isFilled: true },
      { name: 'sent', tone: 'parked', values: perSecond(sent) },
    ],
    marks: drawn,
    unit: (value) => `${figure(value)} a second`,
    times: timesOf(lengthMs),
  });
  const list =
    isNumbered && marks.length > 0
      ? html`<ol class="marks">
          ${listed}
        </ol>`
      : html``;
  return new Html(drawing.text.replace('</figure>', () => `${list.text}</figure>`));
}

function timesOf(lengthMs: number): readonly string[] {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => duration(share * lengthMs).replace(/^0 ms$/, '0 s'));
}

function recoveriesCard({ faults, marks }: DrillLedger): Html | undefined {
  const rows = faults.flatMap(({ name }) => {
    const all = recoveriesOf(marks, name);
    const longest = all.at(-1);
    return longest === undefined ? [] : [{ name, all, longest, middle: all[Math.floor((all.length - 1) / 2)] ?? 0 }];
  });
  if (rows.length === 0) return undefined;
  const most = Math.max(1, ...rows.map(({ longest }) => longest));
  const bars = rows.map(({ name, all, longest, middle }) => {
    const [outer, inner] = [(longest / most) * 100, (middle / Math.max(1, longest)) * 100];
    const text =
      all.length === 1
        ? duration(longest)
        : `median ${duration(middle)}, longest ${duration(longest)} of ${all.length}`;
    return html`<span>${name}</span
      ><span class="of"
        ><i style="width: ${outer.toFixed(1)}%"><i style="width: ${inner.toFixed(1)}%"></i></i></span
      ><small>${text}</small>`;
  });
  return html`<section class="card">
    <h2>Until work went on</h2>
    <p class="muted">
      From when a fault was put right until the next effect; of silence, from its beginning; of a killed or hung
      process, until all it was working on was done.
    </p>
    <div class="bars">${bars}</div>
  </section>`;
}

function faultsCard({ faults }: DrillLedger): Html {
  const rows = faults.map(
    ({ name, about, injected, hits }) =>
      html`<tr>
        <td class="name">${name}</td>
        <td class="about">${about}</td>
        <td class="n">${figure(injected)}</td>
        <td class="n ${hits === 0 ? 'bad' : ''}">${figure(hits)}</td>
      </tr>`,
  );
  return html`<section class="card">
    <h2>Faults</h2>
    <table class="faults">
      <thead>
        <tr>
          <th>Fault</th>
          <th class="about">What happens</th>
          <th class="n">Injected</th>
          <th class="n">Hits</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`;
}

function checkedCard(checked: LedgerReport['checked']): Html {
  const rows = checked.map(
    ({ what, expected, seen, held }) =>
      html`<tr>
        <td>${what}</td>
        <td class="n">${expected}</td>
        <td class="n">${seen}</td>
        <td class="n ${held ? 'good' : 'bad'}">${held ? 'yes' : 'no'}</td>
      </tr>`,
  );
  return html`<section class="card">
    <h2>Ledger</h2>
    <table>
      <thead>
        <tr>
          <th>Checked</th>
          <th class="n">Expected</th>
          <th class="n">Seen</th>
          <th class="n">Held</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`;
}

/** Memory of the workers, and what the tables hold: where one only grows, something is kept that nobody needs. */
function resourcesOf({ samples }: DrillLedger): Html | undefined {
  const last = samples.at(-1);
  if (samples.length < 3 || !last) return undefined;
  const times = timesOf(last.atMs);
  const most = samples.map(({ rss }) => Math.max(0, ...rss) / MEGABYTE);
  const rows = samples.map((sample) => sample.rows);
  const open = samples.map((sample) => sample.open);
  const memory = plot({
    title: 'Memory of the largest worker',
    lines: [{ name: 'resident', tone: 'flight', values: most, isFilled: true }],
    marks: [],
    unit: (value) => `${figure(value)} MB`,
    times,
  });
  const tables = plot({
    title: `Rows of the engine, ${size(last.bytes)} on disk`,
    lines: [
      { name: 'all, with history', tone: 'pending', values: rows, isFilled: true },
      { name: 'open', tone: 'retry', values: open },
    ],
    marks: [],
    unit: (value) => `${figure(value)} rows`,
    times,
  });
  return html`<div class="two">${memory}${tables}</div>`;
}

function pairsCard(title: string, pairs: Readonly<Record<string, string>>): Html {
  const rows = Object.entries(pairs).map(
    ([name, value]) =>
      html`<dt>${name}</dt>
        <dd>${value}</dd>`,
  );
  return html`<section class="card">
    <h2>${title}</h2>
    <dl class="pairs">${rows}</dl>
  </section>`;
}
