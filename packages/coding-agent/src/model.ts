/**
 * The entry `@devtool/coding-agent/model`: the seam of models, and what models
 * behind an API share.
 */
export { modelHistory } from "./agent/history.ts";
export type { Model, ModelEvent, ModelRequest } from "./agent/model.ts";
export {
  AnswerCalls,
  assertRoomForCall,
  BoundedJoiner,
  LeftOutContent,
  listField,
  objectField,
} from "./agent/remote/answer-calls.ts";
export { readThought } from "./agent/remote/answer-parts.ts";
export { CallResults, summaryTexts } from "./agent/remote/call-results.ts";
export { createFetchAnswer } from "./agent/remote/fetch-answer.ts";
export {
  type ApiError,
  statusFault,
} from "./agent/remote/http-fault.ts";
export { ModelFault } from "./agent/remote/model-fault.ts";
export type { RemoteOptions } from "./agent/remote/remote-options.ts";
export {
  type AnswerReader,
  SdkClient,
} from "./agent/remote/sdk-client.ts";
export {
  type Stop,
  stopFault,
} from "./agent/remote/stop-fault.ts";
export { fileText, userContents } from "./agent/remote/user-contents.ts";
export type { ToolDeclaration } from "./tool/tool.ts";
