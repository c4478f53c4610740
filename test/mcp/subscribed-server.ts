/**
 * An MCP server with a note, listed, and others by a template. The tool `touch`
 * says that one has changed to whoever subscribed to it. `note:busy` changes
 * while it is read. Speaks all revisions.
 */
import { fromJsonSchema, McpServer, serveStdio } from "./sdk.ts";

serveStdio(() => {
  const mcp = new McpServer(
    { name: "notes", version: "1" },
    { capabilities: { resources: { subscribe: true } } },
  );
  const { server } = mcp;
  const subscribed = new Set<string>();
  server.setRequestHandler("resources/list", () => ({
    resources: [{ uri: "note:a", name: "a" }],
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "note:{name}", name: "note" }],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    if (uri === "note:busy") await server.sendResourceUpdated({ uri });
    return { contents: [{ uri, text: "A note." }] };
  });
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  const inputSchema = fromJsonSchema<{ uri: string }>({
    type: "object",
    properties: { uri: { type: "string" } },
    required: ["uri"],
  });
  mcp.registerTool(
    "touch",
    { description: "Changes a note.", inputSchema },
    async ({ uri }, { mcpReq }) => {
      // Before 2026-07-28 the server itself knows who wants to hear it.
      const isModern = mcpReq.envelope !== undefined;
      if (isModern || subscribed.has(uri)) {
        await server.sendResourceUpdated({ uri });
      }
      return { content: [{ type: "text", text: "touched" }] };
    },
  );
  return mcp;
});
