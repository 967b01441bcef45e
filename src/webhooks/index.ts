export {
  type FastifyJobReply,
  type FastifyLike,
  forExpress,
  forFastify,
  type NodeJobRequest,
  type NodeJobResponse,
} from './for-node.ts';
export { githubWebhooks, type GithubWebhooksOptions } from './github-scheme.ts';
export type { JobOptions, JobRun } from './job.ts';
export {
  deduplicationId,
  type JobMessage,
  publishJob,
  type QstashClientLike,
  type QstashEndpoint,
  RETRY_DELAY,
} from './publish-job.ts';
export { qstash, type QstashOptions } from './qstash-scheme.ts';
export {
  type FailedDelivery,
  type JobHandler,
  type Receive,
  type ReceiveRequest,
  signedJobs,
  type SignedJobsOptions,
} from './receive.ts';
export { slackEvents, type SlackEventsOptions } from './slack-scheme.ts';
export { standardWebhooks, type StandardWebhooksOptions } from './standard-scheme.ts';
export { stripeWebhooks, type StripeWebhooksOptions } from './stripe-scheme.ts';
export type { SignatureScheme, Verdict, Verified } from './verdict.ts';
