import { HoldfastError } from '../kernel/error.ts';
import { serviceCallClassifier } from './classifier.ts';
import { type Classify, type Failure, isClassifyAnswer } from './failure.ts';

/** The failure a thrown value is: the caller's classifier goes first, the service-call rules fill in what it leaves open. */
export function classifyWith(classify: Classify | undefined, error: unknown, operation: string): Failure {
  if (!classify) return serviceCallClassifier(error);
  let answer: unknown;
  try {
    answer = classify(error);
  } catch (thrown) {
    throw failed(operation, 'threw', thrown, error);
  }
  if (!isClassifyAnswer(answer)) throw failed(operation, `answered ${shown(answer)}`, answer, error);
  if (typeof answer === 'object') return answer;
  const failure = serviceCallClassifier(error);
  // A terminal error is the function's own last word; no general rule of the caller's overrides it.
  if (answer === undefined || answer === failure.verdict || failure.kind === 'terminal') return failure;
  // A changed verdict keeps the facts, but not the reason that was given for the old one.
  const { reason: _reason, ...facts } = failure;
  return { ...facts, verdict: answer };
}

function failed(operation: string, problem: string, what: unknown, error: unknown): HoldfastError {
  return new HoldfastError('CLASSIFIER_FAILED', { operation, problem }, { cause: new AggregateError([what, error]) });
}

function shown(answer: unknown): string {
  if (answer instanceof Promise) return 'a promise';
  return typeof answer === 'object' && answer !== null ? 'an object without a verdict' : String(answer);
}
