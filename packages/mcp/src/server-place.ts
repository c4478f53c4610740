import { basename, isAbsolute } from "node:path";
import { oneLine } from "@devtool/internal/visible-text";
import type { McpServer } from "@devtool/schema";
import { ServerSecrets } from "./server-secrets.ts";

/**
 * Where a server was named: in the operator's configuration, or in a client's
 * session settings.
 */
export type ServerOrigin = "operator" | "client";

/** A server as the questions to its user name it. */
export interface AskingServer {
  /** The name in the configuration. */
  readonly name: string;
  /** Where the server is, as `serverPlace` describes it. */
  readonly place: string;
}

/** The maximum length of a place in a question, in characters. */
const MAX_PLACE_LENGTH = 120;
/**
 * Programs that run a package by its name, and prefer one that is installed in
 * the directory where they start.
 */
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
/** A word that looks like a token: long, with digits, and not a path. */
const TOKEN = /^(?=.*\d)[\w+=-]{20,}$/;
const SECRET_NAME = /token|key|secret|passw|credential|auth|cookie/i;
/** A name with a value: `NAME=`, `Name: ` as of a header, `--header=Name: `. */
const ASSIGNMENTS = [/^[\w.-]+(=|:\s*)/, /^--?[\w-]+=[\w.-]+(=|:\s*)/];
/** Credentials as a header has them: `Bearer` and a token. */
const CREDENTIALS = /\b(bearer|basic)\s+[^\s'"]+/gi;

/**
 * Describes where a server is: its command line with its directory, or its
 * address. It is one line without secrets.
 *
 * For a client's server it says so as well:
 * `http://127.0.0.1:7000/mcp, named by the client`.
 */
export function serverPlace(
  server: Pick<McpServer, "transport"> & { readonly sandbox?: boolean },
  origin: ServerOrigin,
): string {
  const place = oneLine(
    new ServerSecrets(server).hide(describeTransport(server)),
    MAX_PLACE_LENGTH,
  );
  const confined = server.sandbox ? `${place}, in the sandbox` : place;
  return origin === "client" ? `${confined}, named by the client` : confined;
}

/**
 * Returns the title of a server for its questions:
 * `MCP server tickets (https://tickets.example/mcp)`.
 */
export function serverTitle({ name, place }: AskingServer): string {
  return `MCP server ${name} (${place})`;
}

/**
 * Returns a notice for the operator about a server that may run a package of
 * the workspace instead of the intended one.
 *
 * That is so for a package runner that starts in the workspace. Undefined for
 * any other server.
 */
export function runnerNotice({
  name,
  transport,
}: Pick<McpServer, "name" | "transport">): string | undefined {
  if (
    transport.case !== "stdio" ||
    isAbsolute(transport.value.workingDirectory)
  ) {
    return undefined;
  }
  const runner = basename(transport.value.command);
  if (!RUNNERS.has(runner)) return undefined;
  const problem = `${runner} starts in the workspace, and may run a package of the repository instead of the intended one`;
  return `MCP server ${JSON.stringify(name)}: ${problem}: set its working_directory to a directory outside of all workspaces`;
}

/** Whether a value looks like a secret, by its name or by itself. */
export function looksSecret(name: string, value: string): boolean {
  return (
    SECRET_NAME.test(name) ||
    TOKEN.test(value.replaceAll(".", "")) ||
    /:\/\/[^/@\s]*@/.test(value) ||
    (/\s/.test(value) && hasSecretWord([value]))
  );
}

/**
 * Returns whether a command line holds what looks like a secret, which the
 * questions about a server do not show.
 */
export function hasSecretWord(args: readonly string[]): boolean {
  return args.some(
    (word, index) => redactWord(word, args[index - 1] ?? "") !== word,
  );
}

function describeTransport({
  transport,
}: Pick<McpServer, "transport">): string {
  switch (transport.case) {
    case "stdio": {
      const { command, args, workingDirectory } = transport.value;
      const words = [
        command,
        ...args.map((word, index) => redactWord(word, args[index - 1] ?? "")),
      ];
      return `${words.join(" ")}${workingDirectory === "" ? "" : ` in ${workingDirectory}`}`;
    }
    case "http":
    case "sse": {
      const address = URL.parse(transport.value.url);
      if (!address) return transport.value.url;
      // User and query are left out, and the segments hidden that look like a
      // token.
      const path = address.pathname
        .split("/")
        .map((segment) => (TOKEN.test(segment) ? "[…]" : segment));
      return `${address.origin}${path.join("/")}`;
    }
    case undefined:
      return "";
    default:
      return transport satisfies never;
  }
}

/**
 * Returns a word of a command line without what looks like a secret. A word
 * after a flag such as `--token` is one.
 */
function redactWord(word: string, before: string): string {
  for (const assignment of ASSIGNMENTS) {
    const [assigned = ""] = assignment.exec(word) ?? [];
    if (SECRET_NAME.test(assigned)) return `${assigned}[…]`;
  }
  if (
    TOKEN.test(word) ||
    (/^--?\w/.test(before) && !before.includes("=") && SECRET_NAME.test(before))
  ) {
    return "[…]";
  }
  return word
    .replace(CREDENTIALS, "$1 […]")
    .replace(/[^\s'"]+/g, (part) => (TOKEN.test(part) ? "[…]" : part))
    .replace(/:\/\/[^/@]*@/, "://[…]@")
    .replace(/([?&][^=&]*)=[^&]*/g, "$1=[…]");
}
