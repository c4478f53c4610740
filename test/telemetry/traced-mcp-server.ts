import { McpServer, serveStdio } from "../mcp/sdk.ts";

/**
 * An MCP server whose tool, resource and prompt say in which trace they are
 * asked: the prompt has the scripted agent write it to a file.
 */
serveStdio(() => {
  const server = new McpServer({ name: "traced", version: "1" });
  server.registerTool(
    "where",
    { description: "Says where it is.", annotations: { readOnlyHint: true } },
    ({ mcpReq }) => ({
      content: [{ type: "text", text: JSON.stringify(mcpReq._meta ?? {}) }],
    }),
  );
  server.registerResource("place", "trace:place", {}, (_uri, { mcpReq }) => ({
    contents: [
      { uri: "trace:place", text: JSON.stringify(mcpReq._meta ?? {}) },
    ],
  }));
  server.registerPrompt("place", {}, ({ mcpReq }) => {
    const text = `write place.txt ${JSON.stringify(mcpReq._meta ?? {})}`;
    return {
      messages: [{ role: "user", content: { type: "text", text } }],
    };
  });
  return server;
});
