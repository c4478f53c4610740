import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

/**
 * An MCP server that tells its environment with every failure: `tell` answers
 * with it, `ask` asks the user with it, `crash` prints it and ends.
 */
let asked: Request["id"];
const told = JSON.stringify(process.env);

if (process.argv[2] === "dying") crash();
createInterface({ input: process.stdin }).on("line", (line) =>
  answer(JSON.parse(line)),
);

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

function answer({ id, method, params }: Request): void {
  if (id === "question") {
    reply(asked, {
      isError: true,
      content: [{ type: "text", text: "asked in vain" }],
    });
  } else if (method === "initialize") {
    reply(id, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "leaky", version: "1" },
    });
  } else if (method === "ping") {
    reply(id, {});
  } else if (method === "tools/list") {
    reply(id, { tools: ["tell", "refuse", "ask", "crash"].map(tool) });
  } else if (method !== "tools/call") {
    refuse(id, "no such method");
  } else if (params?.name === "tell") {
    reply(id, {
      isError: true,
      content: [{ type: "text", text: `failed: ${told}` }],
    });
  } else if (params?.name === "refuse") {
    refuse(id, `failed: ${told}`);
  } else if (params?.name === "ask") {
    ask(id);
  } else {
    crash();
  }
}

/** Asks the user before it answers; whatever they say, it has failed. */
function ask(id: Request["id"]): void {
  asked = id;
  const params = {
    message: `shall I go on with ${told}?`,
    requestedSchema: { type: "object", properties: {} },
  };
  console.log(
    JSON.stringify({
      jsonrpc: "2.0",
      id: "question",
      method: "elicitation/create",
      params,
    }),
  );
}

function tool(name: string): unknown {
  return { name, description: "Fails.", inputSchema: { type: "object" } };
}

function reply(id: Request["id"], result: unknown): void {
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

function refuse(id: Request["id"], message: string): void {
  if (id !== undefined) {
    console.log(
      JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message } }),
    );
  }
}

function crash(): never {
  writeSync(2, `cannot start with ${told}\n`);
  process.exit(1);
}
