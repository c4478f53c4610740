/**
 * An MCP server with a note, listed, and others by a template. The tool `touch`
 * says that one has changed to whoever subscribed to it. `note:busy` changes
 * while it is read. The tool `stop` ends the server. Speaks all revisions, or
 * 2025 alone where its argument says so.
 */
import {
  fromJsonSchema,
  McpServer,
  StdioServerTransport,
  serveStdio,
} from "./sdk.ts";

if (process.argv[2] === "2025") {
  await createNotes().connect(new StdioServerTransport());
} else {
  serveStdio(createNotes);
}

function createNotes(): McpServer {
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
  mcp.registerTool("stop", { description: "Ends the server." }, () =>
    process.exit(),
  );
  return mcp;
}
