// What @devtool/coding-agent/model exports: the seam that models stand behind, and what they share with the agent.
export { modelHistory } from "./agent/history.ts";
export type { Model, ModelEvent, ModelRequest, ModelToolCall } from "./agent/model.ts";
export { type StepStart, stepStart } from "./agent/step-start.ts";
export type { ToolDeclaration } from "./tool/tool.ts";
