// The public names of @devtool/fake-model, one by one.
export { type CallResult, type Entry, isScript } from "./conversation.ts";
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
  type FakeRequest,
  type FakeStats,
  startFakeModel,
} from "./fake-model.ts";
export { type FakeError, RequestRefused, readJson, sendJson } from "./http.ts";
export {
  type Content,
  halves,
  type Plan,
  type PlanContext,
  type PlannedCall,
  planText,
  planTurn,
  summarize,
} from "./plan.ts";
export { runFake } from "./run-fake.ts";
export { type StreamEncoder, streamAnswer } from "./stream-answer.ts";
