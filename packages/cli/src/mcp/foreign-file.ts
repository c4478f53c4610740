import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  plainJson,
  stringOrEmpty,
} from "@devtool/internal/json";
import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { errorCode, errorMessage } from "../errors.ts";
import { parseToml } from "../parse-toml.ts";

/** The MCP servers in the settings of another program. */
export interface ForeignFile {
  readonly path: string;
  /** The servers by name, as the program has them. */
  readonly servers: Readonly<Record<string, JsonValue>>;
  /**
   * The servers that Claude Code has for one project only, as `NAME of PROJECT`.
   */
  readonly ofProjects: readonly string[];
  /** Whether the file switches a server off elsewhere than in its entry. */
  readonly isSwitchedOff: (name: string) => boolean;
  /** What VS Code asks its user for, by id: `${input:ID}` stands for it. */
  readonly inputs: ReadonlyMap<string, string>;
  /** Whether `$NAME` is a variable too, as in settings of Gemini CLI. */
  readonly hasBareVariables: boolean;
}

/**
 * Returns where Gemini CLI, Claude Code, VS Code and Codex keep the settings of
 * a user. None of it is in a repository.
 */
export function userFiles(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
  platform: NodeJS.Platform,
): string[] {
  const code =
    platform === "darwin"
      ? join(home, "Library", "Application Support")
      : env.XDG_CONFIG_HOME || join(home, ".config");
  return [
    join(home, ".gemini", "settings.json"),
    join(home, ".claude.json"),
    join(code, "Code", "User", "mcp.json"),
    join(env.CODEX_HOME || join(home, ".codex"), "config.toml"),
  ];
}

/**
 * Reads the settings of another program: TOML with tables `mcp_servers.NAME`
 * (Codex), or JSON with comments that has `servers` (VS Code) or `mcpServers`
 * (all others).
 *
 * Returns undefined for a file that does not exist. Throws for one that cannot
 * be read.
 */
export async function readForeignFile(
  path: string,
): Promise<ForeignFile | undefined> {
  let text: string;
  try {
    // Editors on Windows may begin a file with a byte order mark.
    text = (await readFile(path, "utf8")).replace(/^\ufeff/, "");
  } catch (reason) {
    if (errorCode(reason) === "ENOENT") return undefined;
    throw new Error(`it cannot be read: ${errorMessage(reason)}`);
  }
  const isToml = path.endsWith(".toml");
  const settings = isToml ? plainJson(parseToml(text)) : parseJsonc(text);
  if (!isObject(settings)) throw new Error("it is not an object");
  const code = isObject(settings.mcp) ? settings.mcp : settings;
  const servers = isToml
    ? settings.mcp_servers
    : (settings.mcpServers ?? code.servers);
  return {
    path,
    servers: objectOrEmpty(servers),
    ofProjects: Object.entries(objectOrEmpty(settings.projects)).flatMap(
      ([project, its]) =>
        Object.keys(objectOrEmpty(objectOrEmpty(its).mcpServers)).map(
          (name) => `${JSON.stringify(name)} of project ${project}`,
        ),
    ),
    isSwitchedOff: switchedOff(code),
    inputs: readInputs(code.inputs),
    hasBareVariables: basename(path) === "settings.json",
  };
}

/** Reads `mcp.allowed` and `mcp.excluded` of Gemini CLI. */
function switchedOff({
  allowed,
  excluded,
}: JsonObject): ForeignFile["isSwitchedOff"] {
  return (name) =>
    listOrEmpty(excluded).includes(name) ||
    (Array.isArray(allowed) && !allowed.includes(name));
}

function parseJsonc(text: string): JsonValue {
  const errors: ParseError[] = [];
  const value: JsonValue = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new Error(
      `it is not valid JSON: ${printParseErrorCode(error.error)} in line ${line}`,
    );
  }
  return isObject(value) ? value : null;
}

function readInputs(inputs: JsonValue | undefined): Map<string, string> {
  return new Map(
    listOrEmpty(inputs)
      .filter((input): input is JsonObject => isObject(input))
      .map(({ id, description }) => [
        stringOrEmpty(id),
        stringOrEmpty(description),
      ]),
  );
}
