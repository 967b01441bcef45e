import type { Logger } from '../kernel/log.ts';
import type { Alert, AlertSink } from './alert.ts';

/** Writes alerts as lines at `error`, the end of an outage at `info`: for systems that alert on logs. */
export function logAlerts(logger: Logger): AlertSink {
  return (alert) => {
    const line = { ...fieldsOf(alert), alert: alert.kind, alertGroup: alert.group };
    return alert.kind === 'breaker-closed' ? logger.info(line, alert.text) : logger.error(line, alert.text);
  };
}

function fieldsOf(alert: Alert): Record<string, unknown> {
  if (alert.kind !== 'dead' && alert.kind !== 'parked') {
    const { id: _id, at: _at, text: _text, kind: _kind, group: _group, ...facts } = alert;
    return facts;
  }
  const { eventId, type, source, target, handler, attempts, dlqId, idempotencyKey, traceId, suppressed } = alert;
  return {
    eventId,
    eventType: type,
    source,
    target,
    operation: handler,
    attempt: attempts,
    dlqId,
    idempotencyKey,
    traceId,
    suppressed: suppressed.count,
  };
}
