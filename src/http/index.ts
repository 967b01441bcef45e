export type { HttpAttempt, HttpAttemptObserver } from './attempt-report.ts';
export type { CallOptions } from './call-options.ts';
export type { ServiceClientOptions } from './client-options.ts';
export {
  codingAgent,
  type AgentMessage,
  type AgentReply,
  type AgentSession,
  type CodingAgent,
  type CodingAgentOptions,
  type NewAgentSession,
} from './coding-agent.ts';
export { commandId } from './command-id.ts';
export { answerOf, type ErrorAnswer } from './error-answer.ts';
export {
  gitHost,
  type Ensured,
  type GitFile,
  type GitHost,
  type GitHostOptions,
  type GitRepo,
  type GitUser,
  type NewGitFile,
  type NewGitRepo,
  type NewGitUser,
} from './git-host.ts';
export type { HeaderRecord } from './header-rules.ts';
export {
  llm,
  type ChatMessage,
  type ChatRequest,
  type ChatResult,
  type ChatToolCall,
  type Llm,
  type LlmOptions,
} from './llm.ts';
export type { ReadAs } from './parse-answer.ts';
export { probeHealth, type Health, type ProbeOptions } from './probe-health.ts';
export {
  productService,
  type Endpoint,
  type EndpointCall,
  type EndpointData,
  type ProductService,
  type ProductServiceOptions,
} from './product-service.ts';
export type { RedirectRule } from './redirect.ts';
export type { CheckedRequest, HttpMethod, HttpRequest, TextRequest, UnreadRequest } from './request-options.ts';
export {
  serviceClient,
  type CreateRequest,
  type CreateResult,
  type HttpResult,
  type ServiceClient,
} from './service-client.ts';
export type { Shaped } from './shape.ts';
export { path, type Query } from './target-url.ts';
