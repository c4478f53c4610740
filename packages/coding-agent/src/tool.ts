/**
 * The entry `@devtool/coding-agent/tool`: the seams of tools and of MCP
 * servers, and functions that create tools.
 */
export type {
  Mcp,
  McpPrompt,
  McpServerStatus,
  McpSession,
  OpenMcp,
} from "./tool/mcp.ts";
export type {
  Answer,
  Question,
  SampleRequest,
  SampleResponse,
  Tool,
  ToolEvent,
} from "./tool/tool.ts";
export { toolArgs } from "./tool/tool-args.ts";
export { failureResult, textResult } from "./tool/tool-result.ts";
