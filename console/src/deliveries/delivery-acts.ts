import type { Act } from '../shell/acts.tsx';

/** Takes back a delivery that is not done. */
export function cancelDeliveryAct(id: string): Act {
  return {
    title: 'Cancel this delivery?',
    text: 'It is not tried again. What is on its way at this moment may still arrive. This cannot be taken back.',
    verb: 'Cancel the delivery',
    isDanger: true,
    path: `delivery/messages/${encodeURIComponent(id)}/cancel`,
    done: () => 'The delivery was cancelled.',
  };
}

/** Tries a dead delivery again. */
export function retryDeliveryAct(id: string): Act {
  return {
    title: 'Retry this delivery now?',
    text: 'In place: the message id stays, so that a receiver that has seen it knows it; attempts start from zero.',
    verb: 'Retry now',
    path: `messages/${encodeURIComponent(id)}/replay`,
    done: () => 'It is in line again.',
    command: `holdfast dlq:replay --id ${id}`,
  };
}
