import {
  type Dialect,
  forEachAgent,
  loadOnce,
  route,
} from "@devtool/server/dialect";

/**
 * MCP over Streamable HTTP at `/mcp`: each agent is a tool. Serves revisions
 * from 2024-11-05 to 2026-07-28, and the Tasks extension.
 */
export function mcp(): Dialect {
  return (services) =>
    forEachAgent(services, (own) => {
      const load = loadOnce(async () => {
        const { McpAnswers } = await import("./answer-mcp.ts");
        return new McpAnswers(own);
      });
      return [
        route(own, "*", "/mcp", async (call) => (await load()).answer(call)),
      ];
    });
}
