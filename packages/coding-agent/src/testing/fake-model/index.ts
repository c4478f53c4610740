/**
 * The entry `@devtool/coding-agent/testing/fake-model`: what the fakes of model
 * APIs share, which play prompts as scripts over HTTP. It is not published.
 */
export type { CallResult, Entry } from "./conversation.ts";
export type { DeclaredTool } from "./declared-tool.ts";
export {
  type AnswerContext,
  type AnswerRequest,
  type ApiReply,
  type ApiRequest,
  estimateTokens,
  type FakeDialect,
  type FakeModel,
  type FakeModelOptions,
  startFakeModel,
} from "./fake-model.ts";
export { type FakeError, RequestRefused } from "./http.ts";
export { message, type Parts, requestOf, text } from "./model-request.ts";
export { type Content, halves, type Plan, type PlannedCall } from "./plan.ts";
export { serveResponse } from "./serve-response.ts";
export type { StreamEncoder } from "./stream-answer.ts";
