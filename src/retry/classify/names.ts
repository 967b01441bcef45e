import { type Rule, rules } from './rule.ts';

const wrapper: Rule = { kind: 'network', likelyTransient: true };

/**
 * Class names (and one client's own codes) that say what happened where no code does. Wrappers have no verdict of their
 * own, so that what they wrap is asked first.
 */
export const NAMES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  // `AbortSignal.timeout`, and the timeouts of got, ky, the OpenAI and Anthropic clients and node-redis.
  ...rules('timeout', 'retry', [
    'TimeoutError',
    'APIConnectionTimeoutError',
    'ConnectionTimeoutError',
    'SocketTimeoutError',
    'SocketTimeoutDuringMaintenanceError',
    'CommandTimeoutDuringMaintenanceError',
    'KafkaJSRequestTimeoutError',
    'KafkaJSTimeout',
    'KafkaJSLockTimeout',
    'PLT_KFK_TIMEOUT',
  ]),
  // The OpenAI and Anthropic clients' word for an abort by the caller's signal; their timeouts have a class of their own.
  ...rules('unknown', 'fail', ['APIUserAbortError']),
  ...rules('network', 'retry', [
    'ClientOfflineError',
    'DisconnectsClientError',
    'RootNodesUnavailableError',
    'SocketClosedUnexpectedlyError',
    // The client of NATS, on a connection that has ended or is about to.
    'ClosedConnectionError',
    'DrainingConnectionError',
    'KafkaJSConnectionClosedError',
    'PLT_KFK_NETWORK',
  ]),
  ...rules('broker', 'retry', [
    // amqplib: the channel or connection went away under the call.
    'IllegalOperationError',
    // The client of NATS: nobody listens for a subject, or JetStream does not.
    'NoResponders',
    'JetStreamNotEnabled',
    'KafkaJSBrokerNotFound',
    'KafkaJSGroupCoordinatorNotFound',
    'KafkaJSMetadataNotLoaded',
    'KafkaJSNoBrokerAvailableError',
    'KafkaJSTopicMetadataNotLoaded',
  ]),
  ...rules('auth', undefined, ['KafkaJSSASLAuthenticationError', 'PLT_KFK_AUTHENTICATION']),
  ...rules('broker', undefined, ['KafkaJSNumberOfRetriesExceeded']),
  ...rules('invalid', 'fail', ['ValidationError', 'ValiError', 'ZodError', '$ZodError', 'AI_TypeValidationError']),
  ['APIConnectionError', wrapper],
  ['ClusterAllFailedError', wrapper],
  ['MaxRetriesPerRequestError', wrapper],
]);
