import { OptionCheck } from '../kernel/check-options.ts';
import { sha256 } from '../system/sha256.ts';
import { checkSeconds, checkSecrets, HmacSecrets, refused, withHead } from './hmac-scheme.ts';
import { ONCE_LETTERS, type SignatureScheme } from './verdict.ts';

/** The secrets of a webhook of GitHub. */
export interface GithubWebhooksOptions {
  /** As they were typed into the settings of the webhook or the app. Any of them is accepted, so that they can be changed without a gap. */
  readonly secrets: readonly string[];
  /**
   * For how long a body that was signed is good for one delivery id alone, in seconds. GitHub signs neither the id nor a time, so that
   * whoever has seen a request could send it again under an id of their own, at any time. Default 30 days; a year at most. 0: the id
   * alone says which message it is, for repositories in which GitHub itself sends the same bytes twice, as when a workflow is
   * dispatched twice alike.
   */
  readonly bodyOnceForS?: number | undefined;
  /** For how long a delivery may be sent again, in seconds: so long it is remembered at least. Default four days; GitHub allows three. */
  readonly retriesForS?: number | undefined;
}

/**
 * Webhooks of GitHub: the header `X-Hub-Signature-256`. The message id is `X-GitHub-Delivery`, which a delivery keeps when it is sent
 * again. The older `X-Hub-Signature`, by SHA-1, is not looked at.
 */
export function githubWebhooks(options: GithubWebhooksOptions): SignatureScheme {
  const check = new OptionCheck('githubWebhooks()');
  if (check.object('options', options, "pass { secrets: ['…'] }")) {
    check.known(options, ['secrets', 'bodyOnceForS', 'retriesForS']);
    checkSecrets(check, options.secrets, 'as they were typed into the settings of the webhook');
    checkSeconds(check, 'bodyOnceForS', options.bodyOnceForS, 0, 31_536_000);
    checkSeconds(check, 'retriesForS', options.retriesForS, 0, 31_536_000);
  }
  check.done();
  const { bodyOnceForS = 2_592_000, retriesForS = 345_600 } = options;
  const secrets = new HmacSecrets(options.secrets);
  return {
    name: 'github',
    retriesForS,
    // GitHub sends nothing again by itself: whoever looks at the list of deliveries sees that it failed.
    final: { status: 422, headers: {} },
    verify: async (headers, body) => {
      const header = headers.get('x-hub-signature-256');
      if (header === null) return refused('the header X-Hub-Signature-256 is missing');
      const signature = header.startsWith('sha256=') ? header.slice('sha256='.length) : '';
      if (!(await secrets.haveSigned(withHead('', body), [signature])))
        return refused('the signature is not by one of the secrets');
      const messageId = headers.get('x-github-delivery');
      if (messageId === null || messageId === '') return refused('the header X-GitHub-Delivery is missing');
      // Of the signature, which says body and secret: two webhooks with secrets of their own may send the same body.
      const once = bodyOnceForS === 0 ? undefined : sha256(signature).slice(0, ONCE_LETTERS);
      const validForMs = bodyOnceForS * 1_000;
      return { kind: 'verified', verified: { messageId, attempt: 1, dedupId: undefined, validForMs, once } };
    },
  };
}
