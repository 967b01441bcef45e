import { OptionCheck } from '../kernel/check-options.ts';
import { checkSeconds, checkSecrets, HmacSecrets, jsonFields, refused, sentAt, withHead } from './hmac-scheme.ts';
import type { SignatureScheme } from './verdict.ts';

/** The signing secrets of an app of Slack. */
export interface SlackEventsOptions {
  /** The signing secret of the app. Any of them is accepted, so that it can be changed without a gap. */
  readonly secrets: readonly string[];
  /** How old, or how far ahead, a request may be, in seconds. Default 300, as in Slack's own library. */
  readonly toleranceS?: number | undefined;
  /**
   * For how long Slack may send an event again, in seconds: so long it is remembered at least. Default two days: Slack tries three times
   * within minutes, and where delayed events are switched on, every hour for a day.
   */
  readonly retriesForS?: number | undefined;
}

/**
 * Events of Slack: the headers `X-Slack-Signature` and `X-Slack-Request-Timestamp`. The message id is `event_id`. When an address is
 * entered in the settings of the app, Slack asks for a challenge; that is answered here. Slash commands and buttons are no events,
 * and are refused.
 */
export function slackEvents(options: SlackEventsOptions): SignatureScheme {
  const check = new OptionCheck('slackEvents()');
  if (check.object('options', options, "pass { secrets: ['…'] }")) {
    check.known(options, ['secrets', 'toleranceS', 'retriesForS']);
    checkSecrets(check, options.secrets, 'the signing secret of the app');
    checkSeconds(check, 'toleranceS', options.toleranceS, 1, 86_400);
    checkSeconds(check, 'retriesForS', options.retriesForS, 0, 31_536_000);
  }
  check.done();
  const { toleranceS = 300, retriesForS = 172_800 } = options;
  const secrets = new HmacSecrets(options.secrets);
  return {
    name: 'slack',
    retriesForS,
    final: { status: 422, headers: { 'X-Slack-No-Retry': '1' } },
    verify: async (headers, body, nowMs) => {
      const [time, header] = ['request-timestamp', 'signature'].map((name) => headers.get(`x-slack-${name}`));
      if (!time || !header)
        return refused('one of the headers X-Slack-Request-Timestamp and X-Slack-Signature is missing');
      const when = sentAt(time, toleranceS, nowMs);
      if ('problem' in when) return refused(when.problem);
      const signature = header.startsWith('v0=') ? header.slice('v0='.length) : '';
      if (!(await secrets.haveSigned(withHead(`v0:${time}:`, body), [signature])))
        return refused('the signature is not by one of the secrets');
      const fields = jsonFields(body);
      if (fields['type'] === 'url_verification' && typeof fields['challenge'] === 'string')
        return { kind: 'answered', answer: { challenge: fields['challenge'] } };
      const messageId = idOf(fields);
      if (messageId === undefined) return refused('the body has no event_id: it is no event');
      const retried = Number(headers.get('x-slack-retry-num') ?? 0);
      const attempt = Number.isInteger(retried) && retried >= 0 ? retried + 1 : 1;
      return {
        kind: 'verified',
        verified: {
          messageId,
          isIdSigned: true,
          attempt,
          dedupId: undefined,
          validForMs: when.validForMs,
          once: undefined,
        },
      };
    },
  };
}

function idOf({ type, event_id: id, team_id: team, minute_rate_limited: minute }: SlackFields): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  // The one kind of event without an id: at most one a minute and workspace.
  return type === 'app_rate_limited' ? `app_rate_limited:${String(team)}:${String(minute)}` : undefined;
}

type SlackFields = { readonly [K in 'type' | 'event_id' | 'team_id' | 'minute_rate_limited']?: unknown };
