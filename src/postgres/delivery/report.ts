import type { AttemptReport } from '../../delivery/delivery-log.ts';
import { destinationOf } from '../../delivery/delivery-request.ts';
import type { CallbackPublish, SenderStore } from '../../delivery/sender-store.ts';
import { messageInput } from '../fan-out.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { base64Of, messageOf, storable } from './make-messages.ts';
import { placesOf } from './publish.ts';

/** The numbers of how an attempt ends in `http_event`. */
const EVENT_STATES = { DELIVERED: 1, ERROR: 2, FAILED: 3 } as const;

/** NUL is no text to a database. */
function plain(text: string | undefined): string | undefined {
  return text?.replaceAll('\u0000', '').toWellFormed();
}

/** Writing how attempts ended, with their callbacks: one statement for many. */
export function reporting(sql: SqlRunner, schema: string, dedupMs: number): Pick<SenderStore, 'report'> {
  const reportCall = `select ${schema}.http_report($1::text, $2::text, $3::text, $4::text::float8)::text`;
  return {
    report: async (reports) => {
      if (reports.length === 0) return;
      const attempts = reports.map(attemptRow);
      const callbacks = reports.flatMap((report, place) =>
        report.callbacks.map((callback, nth) => callbackText(report, callback, place, nth)),
      );
      const about = placesOf(reports.flatMap((report) => report.callbacks));
      const given = callbacks.length === 0 ? null : `[${callbacks.join(',')}]`;
      await sql.query(reportCall, [JSON.stringify(attempts), given, about, dedupMs]);
    },
  };
}

function attemptRow(report: AttemptReport, place: number): object {
  const { responseBody, responseHeaders } = report;
  return {
    place,
    message_id: report.messageId,
    cycle: report.cycle,
    attempt: report.attempt,
    state: EVENT_STATES[report.state],
    at: report.endedAt,
    started_at: report.startedAt,
    next_at: report.nextAt,
    error: plain(report.error),
    status: report.responseStatus,
    headers: responseHeaders,
    body: responseBody && base64Of(responseBody),
    destination: destinationOf(report.request.url),
  };
}

/** The key of a callback is the attempt's: a second time, after a crash, it is known. */
function callbackText(
  { messageId, cycle, attempt }: AttemptReport,
  { to, delivery, notBefore }: CallbackPublish,
  place: number,
  nth: number,
): string {
  const key = `callback:${messageId}:${cycle}:${attempt}${nth === 0 ? '' : `:${nth + 1}`}`;
  const message = messageOf({ ...storable(delivery), signedBy: 'server', url: to.url }, key, notBefore, messageId);
  return `{"place":${place},"message":${messageInput([message]).slice(1, -1)}}`;
}
