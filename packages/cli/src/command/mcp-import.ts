import { homedir } from "node:os";
import { resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalJson } from "@devtool/internal/json";
import { visibleText } from "@devtool/internal/visible-text";
import { errorMessage } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import {
  type ForeignFile,
  readForeignFile,
  userFiles,
} from "../mcp/foreign-file.ts";
import { importServer } from "../mcp/foreign-server.ts";
import { serverToml } from "../mcp/server-toml.ts";
import { Variables } from "../mcp/variables.ts";
import { countOf } from "../render/count.ts";

/**
 * `devtool mcp import`: prints the MCP servers of other programs' settings as
 * `[[mcp_servers]]` of `config.toml`: those of the named files, or of the user.
 *
 * Secrets become variables, which comments list. A server that cannot be
 * imported costs only itself, and a comment says why.
 */
export async function mcpImport(
  files: readonly string[],
  io: Io,
): Promise<number> {
  const home = io.env.HOME || homedir();
  const paths =
    files.length > 0
      ? files.map((file) => resolve(file))
      : userFiles(io.env, home, io.platform ?? process.platform);
  const whenMissing = files.length > 0 ? "leave out" : "skip";
  // Twice, as no invented variable may be one that a later server names.
  const draft = new Variables(home);
  await readFiles(paths, whenMissing, draft);
  const variables = new Variables(home, draft.ofFiles);
  const found = await readFiles(paths, whenMissing, variables);
  if (found.isEmpty) {
    writeLine(
      io.stderr,
      `there are no MCP servers in ${paths.map(shown).join(", ")}: name the file that has them`,
    );
    return ExitCode.FAILED;
  }
  for (const line of found.lines()) writeLine(io.stdout, line);
  writeLine(io.stderr, found.summary());
  return found.count > 0 ? ExitCode.OK : ExitCode.FAILED;
}

/**
 * Reads the servers of files. One that is missing is skipped, or left out with
 * a reason.
 */
async function readFiles(
  paths: readonly string[],
  whenMissing: "skip" | "leave out",
  variables: Variables,
): Promise<FoundServers> {
  const found = new FoundServers(variables);
  for (const path of paths) {
    try {
      const file = await readForeignFile(path);
      if (file) found.add(file);
      else if (whenMissing === "leave out")
        throw new Error("it does not exist");
    } catch (reason) {
      found.leaveOut(path, reason);
    }
  }
  return found;
}

/** A server to import, and where it was found. */
interface FoundServer {
  readonly path: string;
  readonly server: JsonObject;
  readonly unused: readonly string[];
}

/** The servers of the files that were read so far. */
class FoundServers {
  readonly #variables: Variables;
  readonly #servers = new Map<string, FoundServer>();
  readonly #leftOut: string[] = [];

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  get count(): number {
    return this.#servers.size;
  }

  get isEmpty(): boolean {
    return this.count + this.#leftOut.length === 0;
  }

  add(file: ForeignFile): void {
    for (const [name, entry] of Object.entries(file.servers)) {
      try {
        this.#addServer(file.path, name, () =>
          importServer(name, entry, file, this.#variables),
        );
      } catch (reason) {
        this.leaveOut(`${JSON.stringify(name)} of ${file.path}`, reason);
      }
    }
    for (const server of file.ofProjects) {
      this.leaveOut(
        `${server} in ${file.path}`,
        "a server here is for all projects",
      );
    }
  }

  /** Notes a server or a file that is not imported. */
  leaveOut(what: string, reason: unknown): void {
    this.#leftOut.push(`${what} is left out: ${errorMessage(reason)}`);
  }

  /** The lines for `config.toml`. */
  *lines(): Iterable<string> {
    const needed = this.#needed();
    if (needed.length > 0) {
      yield "# Set these variables where devtool runs:";
      for (const [name, place] of needed) yield `#   ${name}: ${shown(place)}`;
      yield "";
    }
    for (const text of this.#leftOut) yield `# ${shown(text)}`;
    if (this.#leftOut.length > 0) yield "";
    for (const { path, server, unused } of this.#servers.values()) {
      yield `# From ${shown(path)}.`;
      if (unused.length > 0) {
        yield `# Without a match here: ${shown(unused.join(", "))}.`;
      }
      yield serverToml(server);
    }
  }

  /** Says in one line what was found and what is to do. */
  summary(): string {
    const names = this.#needed().map(([name]) => name);
    return [
      `${countOf(this.count, "server")} for config.toml`,
      ...(this.#leftOut.length > 0
        ? [`${this.#leftOut.length} left out, as the comments say`]
        : []),
      ...(names.length > 0 ? [`set ${names.join(", ")}`] : []),
    ].join("; ");
  }

  /** The variables of the servers that are not left out. */
  #needed(): (readonly [name: string, place: string])[] {
    const text = JSON.stringify([...this.#servers.values()]);
    return [...this.#variables.places].filter(([name]) =>
      text.includes(`\${${name}}`),
    );
  }

  #addServer(
    path: string,
    name: string,
    read: () => Pick<FoundServer, "server" | "unused">,
  ): void {
    const other = this.#servers.get(name);
    const { server, unused } = read();
    if (!other) {
      this.#servers.set(name, { path, server, unused });
    } else if (canonicalJson(other.server) !== canonicalJson(server)) {
      throw new Error(`${other.path} has another server of that name`);
    }
  }
}

/** A text of a file on one line, without what a terminal acts on. */
function shown(text: string): string {
  return visibleText(text).replaceAll(/\s+/g, " ");
}
