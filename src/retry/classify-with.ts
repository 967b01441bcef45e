import { HoldfastError } from '../kernel/error.ts';
import { serviceCallClassifier } from './classifier.ts';
import { type Classify, type Failure, isClassifyAnswer } from './failure.ts';

/** The failure a thrown value is: the caller's classifier goes first, the service-call rules fill in what it leaves open. */
export function classifyWith(classify: Classify | undefined, error: unknown, operation: string): Failure {
  if (!classify) return serviceCallClassifier(error);
  let answer: ReturnType<Classify>;
  try {
    answer = classify(error);
    if (!isClassifyAnswer(answer))
      throw new TypeError(
        "a classifier answered something other than 'retry', 'fail', undefined or a Failure; it may not be async",
      );
  } catch (thrown) {
    throw new HoldfastError('CLASSIFIER_FAILED', { operation }, { cause: new AggregateError([thrown, error]) });
  }
  if (typeof answer === 'object') return answer;
  const failure = serviceCallClassifier(error);
  // A terminal error is the function's own last word; no general rule of the caller's overrides it.
  if (answer === undefined || answer === failure.verdict || failure.kind === 'terminal') return failure;
  // A changed verdict keeps the facts, but not the reason that was given for the old one.
  const { reason: _reason, ...facts } = failure;
  return { ...facts, verdict: answer };
}
