import { appendFileSync } from "node:fs";
import {
  acceptedContent,
  fromJsonSchema,
  inputRequired,
  McpServer,
  serveStdio,
} from "../mcp/sdk.ts";

/**
 * An MCP server that asks its user for a name, in words of their own.
 * `DOORMAN_BOOK` names a file with a line for each call and answer.
 */
const NAME = {
  type: "object" as const,
  properties: { name: { type: "string" as const, minLength: 2 } },
  required: ["name"],
};

serveStdio(() => {
  const server = new McpServer({ name: "doorman", version: "1" });
  const inputSchema = fromJsonSchema<Record<string, never>>({ type: "object" });
  server.registerTool(
    "greet",
    { description: "Greets who comes.", inputSchema },
    (_args, { mcpReq }) => {
      if (process.env.DOORMAN_BOOK !== undefined) {
        appendFileSync(process.env.DOORMAN_BOOK, "rang\n");
      }
      const name = acceptedContent(mcpReq.inputResponses, "name")?.name;
      if (mcpReq.inputResponses === undefined) {
        const asked = inputRequired.elicit({
          message: "Who is there?",
          requestedSchema: NAME,
        });
        return inputRequired({ inputRequests: { name: asked } });
      }
      return {
        content: [
          {
            type: "text",
            text: name === undefined ? "Nobody came." : `Hello, ${name}!`,
          },
        ],
      };
    },
  );
  return server;
});
