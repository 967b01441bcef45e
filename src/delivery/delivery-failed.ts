import type { Failure } from '../retry/failure.ts';
import type { Policy } from '../retry/policy.ts';

/** A delivery did not succeed: how it is judged, and when it is tried again. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed';
  readonly failure: Failure;
  readonly policy: Policy;

  constructor(problem: string, failure: Failure, policy: Policy) {
    super(problem);
    this.failure = failure;
    this.policy = policy;
  }
}
