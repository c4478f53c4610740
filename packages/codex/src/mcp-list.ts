import { create, type JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { type SlashCommand, SlashCommandSchema } from "@devtool/schema";
import type { AppServer } from "./app-server/app-server.ts";
import { elementsOf, wordsOf } from "./turn/odd-value.ts";

/** The maximum number of pages of servers that are read. */
const MAX_PAGES = 20;

/** The command that lists the MCP servers of a conversation. */
export const MCP_LIST: SlashCommand = create(SlashCommandSchema, {
  name: "mcp",
  description: "Shows the MCP servers whose tools Codex has",
  subCommands: [
    {
      name: "list",
      description:
        "Lists the MCP servers, their state and how many tools they have",
    },
  ],
});

/** Returns why a command cannot start; undefined when it can. */
export function checkCommand(path: readonly string[]): string | undefined {
  const name = path.join(" ");
  return name === "mcp list"
    ? undefined
    : `/${name} does not exist: choose /mcp list`;
}

/**
 * Lists the MCP servers that Codex has in a conversation, one a line. Those
 * that did not start are said to have failed. Says so when Codex is too old to
 * list them.
 */
export async function listMcpServers(
  server: AppServer,
  threadId: string,
  signal: AbortSignal,
): Promise<string> {
  const lines: string[] = [];
  const failed = new Map(server.failedMcpServers);
  let cursor = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = { detail: "toolsAndAuthOnly", threadId };
    const reply = await server.call(
      "mcpServerStatus/list",
      cursor === "" ? params : { ...params, cursor },
      signal,
    );
    if (reply.case === "refused") {
      lines.push(`Codex does not list its MCP servers: ${reply.message}`);
      break;
    }
    for (const status of elementsOf(reply.value.data)) {
      const name = wordsOf(objectOrEmpty(status).name);
      if (!failed.has(name)) lines.push(lineOf(name, status));
    }
    cursor = stringOrEmpty(reply.value.nextCursor);
    if (cursor === "") break;
  }
  for (const [name, error] of failed) lines.push(`${name} - failed: ${error}`);
  return lines.join("\n") || "There are no MCP servers.";
}

function lineOf(name: string, status: JsonValue): string {
  const { tools, authStatus, toolsError } = objectOrEmpty(status);
  if (name === "" || !isObject(tools)) {
    return `A server that cannot be read: ${JSON.stringify(status)}`;
  }
  if (authStatus === "notLoggedIn") {
    return `${name} - failed: nobody is logged in: codex mcp login ${name}`;
  }
  const error = wordsOf(toolsError);
  if (error !== "") return `${name} - failed: ${error}`;
  const count = Object.keys(tools).length;
  return `${name} - ready, ${count} ${count === 1 ? "tool" : "tools"}`;
}
