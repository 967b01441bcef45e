import type { Attention } from '../../../src/operator/overview.ts';

/** What each thing that needs somebody is called in the runbooks of alerts: the part that says what to do. */
export const ATTENTION_RUNBOOKS: Readonly<Record<Attention['kind'], string>> = {
  'no-worker': 'HoldfastNobodyServes',
  'no-handler': 'HoldfastNobodyServes',
  'outbox-full': 'HoldfastOutboxFull',
  paused: 'HoldfastMessagesLate',
  late: 'HoldfastMessagesLate',
  'breaker-open': 'HoldfastBreakerOpen',
  'dead-letters': 'HoldfastDeadLetters',
  'bulk-paused': 'HoldfastDeadLetters',
  'keys-held': 'HoldfastDeadLettersLeft',
  'not-sampled': 'HoldfastNoHousekeeper',
};
