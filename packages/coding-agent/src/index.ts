/**
 * The entry `@devtool/coding-agent`: the coding agent, its options, and its
 * seams for models and tools.
 */
export type { ToolFacts } from "@devtool/policy";
export { type StepStart, stepStart } from "./agent/history.ts";
export type { LoopLimits } from "./agent/loop-guard.ts";
export type {
  Model,
  ModelEvent,
  ModelRequest,
  ModelToolCall,
  StepSource,
} from "./agent/model.ts";
export { createScriptedModel } from "./agent/scripted/scripted-model.ts";
export { codingAgent } from "./coding-agent.ts";
export type { CodingAgentOptions, ToolLimits } from "./coding-agent-options.ts";
export {
  type CodingServerOptions,
  serveCodingAgent,
} from "./serve-coding-agent.ts";
export { defineTool, type ToolDefinition } from "./tool/define-tool.ts";
export type { Mcp } from "./tool/mcp.ts";
export type {
  Tool,
  ToolDeclaration,
  ToolEvent,
  ToolInvocation,
  ToolResult,
} from "./tool/tool.ts";
