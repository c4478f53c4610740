import { basename, isAbsolute } from "node:path";
import type { McpServer } from "@devtool/schema";
import { oneLine } from "@devtool/schema";
import { ServerSecrets } from "./server-secrets.ts";

/** Who named a server: the operator in the configuration, or a client in its session settings. */
export type ServerOrigin = "operator" | "client";

/** A server that asks its user something. */
export interface AskingServer {
  /** Its name, as configured. */
  readonly name: string;
  /** Where it is, in words for a question. */
  readonly place: string;
}

/** The maximum number of characters that a question shows of where a server is. */
const MAX_PLACE_LENGTH = 120;
/** Programs that run a package by its name: one of the directory that they start in before any other. */
const RUNNERS: ReadonlySet<string> = new Set([
  "npx",
  "npm",
  "pnpm",
  "pnpx",
  "yarn",
  "bunx",
  "bun",
  "deno",
  "uvx",
  "uv",
  "pipx",
]);
/** A word that looks like a token: long, with digits, and no path. */
const TOKEN = /^(?=.*\d)[\w+=-]{20,}$/;
const SECRET_NAME = /token|key|secret|passw|credential|auth/i;

/**
 * Where a server is, for a question: its command line with its directory, or its address; on one line, without secrets. Of a
 * client's server it says so too: `http://127.0.0.1:7000/mcp, named by the client`.
 */
export function serverPlace(server: Pick<McpServer, "transport">, origin: ServerOrigin): string {
  const place = oneLine(new ServerSecrets(server).hide(placeOf(server)), MAX_PLACE_LENGTH);
  return origin === "client" ? `${place}, named by the client` : place;
}

/** A server as its questions name it: `MCP server tickets (https://tickets.example/mcp)`. */
export function titleOf({ name, place }: AskingServer): string {
  return `MCP server ${name} (${place})`;
}

/**
 * Says when a server is started so that it runs what the workspace has in the place of the package that is meant; undefined
 * when it is not.
 */
export function runnerNotice({ name, transport }: Pick<McpServer, "name" | "transport">): string | undefined {
  if (transport.case !== "stdio" || isAbsolute(transport.value.workingDirectory)) return undefined;
  const runner = basename(transport.value.command);
  if (!RUNNERS.has(runner)) return undefined;
  const problem = `${runner} starts in the workspace, and may run a package of the repository in the place of the one that you mean`;
  return `MCP server ${JSON.stringify(name)}: ${problem}: set its working_directory to a directory outside of all workspaces`;
}

function placeOf({ transport }: Pick<McpServer, "transport">): string {
  switch (transport.case) {
    case "stdio": {
      const { command, args, workingDirectory } = transport.value;
      const words = [command, ...args.map((word, index) => shownWord(word, args[index - 1] ?? ""))];
      return `${words.join(" ")}${workingDirectory === "" ? "" : ` in ${workingDirectory}`}`;
    }
    case "http":
    case "sse":
      return shownAddress(transport.value.url);
    case undefined:
      return "";
    default:
      return transport satisfies never;
  }
}

/** A word of a command line, without what looks like a secret. */
function shownWord(word: string, before: string): string {
  const assigned = /^([\w.-]+)=/.exec(word)?.[1] ?? "";
  if (SECRET_NAME.test(assigned)) return `${assigned}=[…]`;
  if (TOKEN.test(word) || (/^--?\w/.test(before) && !before.includes("=") && SECRET_NAME.test(before))) return "[…]";
  return word.replace(/:\/\/[^/@]*@/, "://[…]@").replace(/([?&][^=&]*)=[^&]*/g, "$1=[…]");
}

/** An address without user, query, and segments that look like a token. */
function shownAddress(url: string): string {
  const address = URL.parse(url);
  if (!address) return url;
  const path = address.pathname.split("/").map((segment) => (TOKEN.test(segment) ? "[…]" : segment));
  return `${address.origin}${path.join("/")}`;
}
