/** The entry `@devtool/coding-agent/model`: the seam of models, and functions for their histories. */
export { modelHistory } from "./agent/history.ts";
export type { Model, ModelEvent, ModelRequest, ModelToolCall, StepSource } from "./agent/model.ts";
export { type StepStart, stepStart } from "./agent/step-start.ts";
export type { ToolDeclaration } from "./tool/tool.ts";
