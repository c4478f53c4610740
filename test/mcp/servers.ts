import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  create,
  type JsonObject,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import type { ToolResult } from "@devtool/coding-agent/testing";
import type {
  Answer,
  Question,
  Tool,
  ToolEvent,
} from "@devtool/coding-agent/tool";
import { McpServers, type McpServersOptions } from "@devtool/mcp/testing";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { COMPILE_CACHE } from "../compile-cache-variable.ts";

const installed = createRequire(
  fileURLToPath(new URL("../../packages/mcp/package.json", import.meta.url)),
);

/** The program of an MCP server that npm installed. */
export function serverProgram(name: string): string {
  const packageFile = installed.resolve(
    `@modelcontextprotocol/${name}/package.json`,
  );
  return join(dirname(packageFile), "dist/index.js");
}

/** The settings of a server that is a Node program. */
export function nodeServer(
  name: string,
  args: readonly string[],
  more: MessageInitShape<typeof McpServerSchema> = {},
): McpServer {
  const stdio = {
    command: process.execPath,
    args: [...args],
    env: { ...COMPILE_CACHE },
  };
  return create(McpServerSchema, {
    name,
    transport: { case: "stdio", value: stdio },
    ...more,
  });
}

/** Servers of a test, and what they said was wrong. */
export function serversOf(
  servers: readonly McpServer[],
  options: Partial<McpServersOptions> = {},
): { readonly servers: McpServers; readonly notices: string[] } {
  const notices: string[] = [];
  const made = new McpServers({
    servers,
    workspacePath: process.cwd(),
    environment: process.env,
    clientInfo: { name: "devtool-test", version: "1.0.0" },
    now: () => performance.now(),
    // A process may start slowly on a busy machine.
    waitMs: 60_000,
    onNotice: (text) => notices.push(text),
    ...options,
  });
  return { servers: made, notices };
}

/** The tool that a server calls by a name. */
export function toolNamed(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find(({ declaration }) => declaration.name.endsWith(name));
  if (!tool) {
    throw new Error(
      `there is no tool ${name} among ${tools.map(({ declaration }) => declaration.name)}`,
    );
  }
  return tool;
}

/** How a call went. */
export interface PlayedCall {
  readonly result: ToolResult;
  readonly events: readonly ToolEvent[];
}

/**
 * Runs a call to its end; what it asks is answered by `answer`. The model says
 * what it was asked.
 */
export async function play(
  tool: Tool,
  args: JsonObject,
  signal: AbortSignal,
  answer: (question: Question) => Answer = () => ({
    optionId: "cancel",
    text: "",
  }),
): Promise<PlayedCall> {
  const events: ToolEvent[] = [];
  const invocation = await tool.prepare(args, signal);
  for await (const event of invocation.execute(signal)) {
    events.push(event);
    if (event.case === "question") event.reply(answer(event.value));
    if (event.case === "sample") {
      const { systemPrompt, messages } = event.value;
      const text = `${systemPrompt} / ${messages[0]?.text}`;
      event.reply(Promise.resolve({ model: "m", text }));
    }
  }
  const last = events.at(-1);
  if (last?.case !== "result") {
    throw new Error("a call should end with a result");
  }
  return { result: last.value, events };
}

/** The text that a call gave. Throws when it failed. */
export function textOf({ result }: PlayedCall): string {
  if (result.case === "error") {
    throw new Error(`${result.value.type}: ${result.value.message}`);
  }
  return result.value.result.case === "text"
    ? result.value.result.value
    : JSON.stringify(result.value.result.value);
}

/** The error that a call failed with. Throws when it did not. */
export function errorOf({ result }: PlayedCall): {
  readonly type: string;
  readonly message: string;
} {
  if (result.case !== "error") throw new Error("the call should have failed");
  return { type: result.value.type ?? "", message: result.value.message };
}
