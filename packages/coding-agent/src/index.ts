/**
 * The entry `@devtool/coding-agent`: the coding agent, its options, and its
 * seams for models and tools.
 */
export { stepStart } from "./agent/history.ts";
export type { Model, ModelEvent, ModelRequest } from "./agent/model.ts";
export { codingAgent } from "./coding-agent.ts";
export type { CodingAgentOptions } from "./coding-agent-options.ts";
export {
  type CodingServerOptions,
  serveCodingAgent,
} from "./serve-coding-agent.ts";
export { defineTool } from "./tool/define-tool.ts";
export type { Tool } from "./tool/tool.ts";
