import type { Deliveries } from '../delivery/deliveries.ts';
import type {
  ChangedBy,
  EndpointOutcome,
  WebhookEndpointRecord,
  WebhookEndpoints,
} from '../delivery/webhook-endpoints.ts';
import { type Calls, reasonOf, remoteCaller, type RemoteOptions } from './remote-caller.ts';
import type { Changed, Counted, EndpointAnswer, FoundOne, SecretAnswer } from './schemas/delivery-schemas.ts';

/** What can be said to a server that delivers. */
export type RemoteDeliveries = Pick<Deliveries, 'destinations'> & {
  readonly endpoints: Omit<WebhookEndpoints, 'send' | 'update'>;
};

/**
 * Endpoints and destinations through a server of `operatorServer` that has deliveries. Answers are what they are there. Throws `REMOTE_AWAY`,
 * `REMOTE_REFUSED` or `REMOTE_UNFIT` besides what they throw.
 */
export function remoteDeliveries(options: RemoteOptions): RemoteDeliveries {
  const call = remoteCaller('remoteDeliveries()', options);
  return { endpoints: endpoints(call), destinations: destinations(call) };
}

function endpoints(call: Calls): RemoteDeliveries['endpoints'] {
  const changed = async (id: string, endpointId: string, by: ChangedBy): Promise<EndpointOutcome> =>
    outcomeOf(await call(id, { params: { id: endpointId }, body: reasonOf(by) }));
  return {
    list: () => call('listEndpoints') as ReturnType<WebhookEndpoints['list']>,
    get: async (id) => itemOf((await call('showEndpoint', { params: { id } })) as FoundOne<WebhookEndpointRecord>),
    create: async (input, by) => outcomeOf(await call('createEndpoint', { body: { ...input, ...reasonOf(by) } })),
    delete: async (id, by) => isDone(await call('deleteEndpoint', { params: { id }, body: reasonOf(by) })),
    enable: (id, by) => changed('enableEndpoint', id, by),
    disable: (id, by) => changed('disableEndpoint', id, by),
    secrets: async (id) =>
      itemOf((await call('showEndpointSecrets', { params: { id } })) as FoundOne<readonly string[]>),
    rotateSecret: async (id, by, options = {}) => {
      const body = { ...options, ...reasonOf(by) };
      const answer = (await call('rotateEndpointSecret', { params: { id }, body })) as SecretAnswer;
      return answer.kind === 'invalid' ? { kind: 'refused', message: answer.problem } : answer;
    },
    resend: async (id, messageId, by) =>
      isDone(await call('resendToEndpoint', { params: { id }, body: { messageId, ...reasonOf(by) } })),
    recover: async (id, since, by) => {
      const body = { since, ...reasonOf(by) };
      const answer = (await call('recoverEndpoint', { params: { id }, body })) as Counted;
      return answer.kind === 'done' ? answer.count : undefined;
    },
  };
}

function destinations(call: Calls): RemoteDeliveries['destinations'] {
  return {
    list: () => call('listDestinations') as ReturnType<Deliveries['destinations']['list']>,
    open: async (destination, by) => void (await call('openDestination', { body: { destination, ...reasonOf(by) } })),
    close: async (destination, by) =>
      isDone(await call('closeDestination', { body: { destination, ...reasonOf(by) } })),
  };
}

function outcomeOf(answer: unknown): EndpointOutcome {
  const outcome = answer as EndpointAnswer;
  return outcome.kind === 'invalid' ? { kind: 'refused', message: outcome.problem } : outcome;
}

function itemOf<T>(found: FoundOne<T>): T | undefined {
  return found.kind === 'found' ? found.item : undefined;
}

function isDone(answer: unknown): boolean {
  return (answer as Changed).kind === 'done';
}
