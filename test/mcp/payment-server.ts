import { appendFileSync } from "node:fs";
import { fromJsonSchema, McpServer, serveStdio } from "./sdk.ts";

/**
 * An MCP server with a strict schema, and one with a schema that is meant to
 * hang who checks it. `PAYMENTS` names a file with a line for each call.
 */
const PAYMENT = {
  type: "object" as const,
  properties: {
    to: { type: "string" as const, enum: ["ada", "bob"] },
    amount: { type: "integer" as const, minimum: 1 },
  },
  required: ["to", "amount"],
  additionalProperties: false,
};

const HOSTILE = {
  type: "object" as const,
  properties: { word: { type: "string" as const, pattern: "^(a+)+$" } },
  required: ["word"],
};

serveStdio(() => {
  const server = new McpServer({ name: "payments", version: "1" });
  for (const [name, schema] of [
    ["pay", PAYMENT],
    ["say", HOSTILE],
  ] as const) {
    const inputSchema = fromJsonSchema<Record<string, unknown>>(schema);
    server.registerTool(name, { description: name, inputSchema }, (args) => {
      appendFileSync(process.env.PAYMENTS ?? "", `${JSON.stringify(args)}\n`);
      return { content: [{ type: "text", text: "done" }] };
    });
  }
  return server;
});
