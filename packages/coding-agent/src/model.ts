/**
 * The entry `@devtool/coding-agent/model`: the seam of models, and what models
 * behind an API share.
 */
export type { OfferedModel } from "@devtool/server/agent";
export { modelHistory, type StepStart, stepStart } from "./agent/history.ts";
export type {
  Model,
  ModelEvent,
  ModelRequest,
  ModelToolCall,
  StepSource,
} from "./agent/model.ts";
export {
  AnswerCalls,
  type ApiCall,
  assertRoomForCall,
  interruptedFault,
  LeftOutContent,
  listField,
  malformedFault,
  objectField,
  PieceJoiner,
} from "./agent/remote/answer-calls.ts";
export { readThought, tokenCount } from "./agent/remote/answer-parts.ts";
export { CallResults, summaryText } from "./agent/remote/call-results.ts";
export type { ApiForm } from "./agent/remote/event-stream.ts";
export {
  createFetchAnswer,
  type FetchAnswer,
  withPlainErrors,
} from "./agent/remote/fetch-answer.ts";
export {
  type AnswerReader,
  generateRemotely,
  type RemoteOptions,
  type RemoteRequest,
} from "./agent/remote/generate-remotely.ts";
export {
  type ApiError,
  type ReadApiError,
  readErrorBody,
  statusFault,
} from "./agent/remote/http-fault.ts";
export { type FaultOptions, ModelFault } from "./agent/remote/model-fault.ts";
export { objectSchema } from "./agent/remote/object-schema.ts";
export type {
  ModelTimeouts,
  RetryPolicy,
} from "./agent/remote/remote-limits.ts";
export { stopFault, unknownStopFault } from "./agent/remote/stop-fault.ts";
export { ToolNames } from "./agent/remote/tool-names.ts";
export type { ToolDeclaration } from "./tool/tool.ts";
