import { access, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import {
  accessWeakness,
  type DirectoryAccess,
  directoryAccess,
} from "@devtool/internal/directory-access";
import { accessUnknown } from "@devtool/internal/file-access";
import { nodeProblem } from "@devtool/internal/node-version";
import { runnerNotice } from "@devtool/mcp/operator";
import { findSandbox, HostPrograms, sortSearchPath } from "@devtool/sandbox";
import type { ServerConfig, ServerInfo } from "@devtool/schema/operator";
import { knownAgents } from "../agents/installed-agents.ts";
import { readConfig } from "../config.ts";
import {
  defaultDataDirectory,
  readDiscovery,
} from "../connection/discovery.ts";
import { tokenPath } from "../connection/kept-token.ts";
import {
  unresponsiveServer,
  verifyServer,
} from "../connection/server-identity.ts";
import { errorMessage } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { chooseModel, describeChoice } from "../model.ts";
import { readModelKeys, withModelKeys } from "../model-keys.ts";
import { ownCommand } from "../own-command.ts";
import { assertPrivateDirectory, readPrivateFile } from "../private-file.ts";
import { indented, paintFor } from "../render/style.ts";
import { applyFixes, findFixes } from "./doctor-fix.ts";

/** The result of a check. */
interface Finding {
  readonly name: string;
  readonly verdict: "good" | "bad" | "info";
  readonly says: string;
}

/**
 * `devtool doctor`: checks that this machine can run a server. With `fix`,
 * mends before that what can be mended safely; without it, lists that.
 */
export async function doctor(
  options: { readonly data?: string; readonly fix?: true },
  io: Io,
): Promise<number> {
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  const fixes = await findFixes(data);
  if (options.fix) {
    for (const line of await applyFixes(fixes)) writeLine(io.stdout, line);
    if (fixes.length === 0) writeLine(io.stdout, "there is nothing to mend");
    writeLine(io.stdout, "");
  }
  const problem = nodeProblem(process.versions.node);
  const { config, says: configFinding } = await configuration(data, io);
  const notices = (config?.mcpServers ?? []).flatMap(
    (server) => runnerNotice(server) ?? [],
  );
  const findings = await Promise.all([
    problem === ""
      ? finding("Node", "good", process.version)
      : finding("Node", "bad", problem),
    sqliteVersion(),
    syncRate(data),
    dataDirectory(data, io),
    configFinding,
    runningServer(data, new AbortController().signal),
    confinement(directoryAccess),
    program("bash", "needed to run shell commands"),
    sandbox(data),
    program("git", "needed for checkpoints"),
    model(config?.model, data, io),
    ...notices.map((says) => finding("MCP", "info", says)),
    ...(await agents(io)),
  ]);
  const paint = paintFor(io);
  for (const { name, verdict, says } of findings) {
    writeLine(
      io.stdout,
      `${paint(verdict === "info" ? "dim" : verdict, MARKS[verdict])} ${name.padEnd(16)} ${indented(says)}`,
    );
  }
  if (!options.fix && fixes.length > 0) {
    const lines = fixes.map(({ says }) => `\n  ${says}`);
    writeLine(
      io.stdout,
      `\n"${ownCommand(io.env)} doctor --fix" would do this:${lines.join("")}`,
    );
  }
  return findings.some(({ verdict }) => verdict === "bad")
    ? ExitCode.FAILED
    : ExitCode.OK;
}

function finding(
  name: string,
  verdict: Finding["verdict"],
  says: string,
): Finding {
  return { name, verdict, says };
}

const MARKS = { good: "✓", bad: "✗", info: "·" } as const;

/** Reads the configuration, and says whether it can be used. */
async function configuration(
  data: string,
  { env }: Io,
): Promise<{
  readonly config: ServerConfig | undefined;
  readonly says: Finding;
}> {
  const name = "configuration";
  const path = join(data, "config.toml");
  try {
    const config = await readConfig(undefined, data, env);
    const isThere = await stat(path).then(
      () => true,
      () => false,
    );
    const says = isThere
      ? finding(name, "good", path)
      : finding(name, "info", 'none; "devtool init" makes one');
    return { config, says };
  } catch (reason) {
    const says = finding(name, "bad", errorMessage(reason));
    return { config: undefined, says };
  }
}

async function sqliteVersion(): Promise<Finding> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(":memory:");
  const version = String(
    database.prepare("SELECT sqlite_version() AS version").get()?.version,
  );
  database.close();
  return finding("SQLite", "info", version);
}

/**
 * Measures how many writes per second reach the disk: the rate of durable
 * events one at a time.
 */
async function syncRate(data: string): Promise<Finding> {
  const where = await access(data).then(
    () => data,
    () => tmpdir(),
  );
  const directory = await mkdtemp(join(where, "doctor-"));
  try {
    await using file = await open(join(directory, "probe"), "w");
    const start = performance.now();
    let syncs = 0;
    for (; performance.now() - start < 200; syncs++) {
      await file.write("x");
      await file.datasync();
    }
    const rate = Math.round((syncs / (performance.now() - start)) * 1000);
    return finding("disk", "good", `${rate} syncs per second`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function dataDirectory(data: string, { platform }: Io): Promise<Finding> {
  const name = "data directory";
  if (!(await stat(data).catch(() => undefined))) {
    return finding(name, "info", `${data} will be created`);
  }
  const unknown = accessUnknown(platform);
  return assertPrivateDirectory(data).then(
    () =>
      unknown === ""
        ? finding(name, "good", data)
        : finding(name, "info", `${data}: ${unknown}`),
    (reason: Error) => finding(name, "bad", reason.message),
  );
}

/**
 * Checks the server's files in the data directory, and whether the program at
 * its address wrote them.
 */
async function runningServer(
  data: string,
  signal: AbortSignal,
): Promise<Finding> {
  const name = "server";
  let info: ServerInfo | undefined;
  try {
    info = await readDiscovery(data);
    await readPrivateFile(tokenPath(data));
  } catch (reason) {
    return finding("token file", "bad", errorMessage(reason));
  }
  const server = info && (await verifyServer(info, signal));
  if (server?.case === "proven") {
    return finding(name, "info", `running at ${info?.url}`);
  }
  if (info && server?.case === "silent") {
    return finding(name, "bad", unresponsiveServer(info, server.timeoutMs));
  }
  if (server?.case !== "foreign") {
    return finding(name, "info", "not running");
  }
  return finding(
    name,
    "bad",
    `another program listens at ${info?.url} (${server.reason}): start the server again`,
  );
}

/** Says how file tools are kept in the workspace. */
function confinement(access: DirectoryAccess): Finding {
  const weakness = accessWeakness(access);
  return weakness === ""
    ? finding("files", "good", `confined by ${access.mechanism}`)
    : finding("files", "info", weakness);
}

/** Says which model answers, and where. */
async function model(
  config: ServerConfig["model"],
  data: string,
  { env }: Io,
): Promise<Finding> {
  const name = "model";
  try {
    const keys = await readModelKeys(data);
    const choice = chooseModel(config, withModelKeys(keys, env), undefined);
    return finding(
      name,
      "info",
      choice
        ? describeChoice(choice)
        : 'scripted: no key for another one is set ("devtool login" keeps one)',
    );
  } catch (reason) {
    return finding(name, "bad", errorMessage(reason));
  }
}

/**
 * Lists the agents that `serve --agent NAME` can start, and how to install or
 * to log in.
 */
async function agents({ env }: Pick<Io, "env">): Promise<Finding[]> {
  const known = await knownAgents({ env, workspaces: [process.cwd()] });
  return known.map(
    ({ profile: { name, title, login, install, untested }, found, unused }) => {
      if (!found) {
        const says =
          unused === undefined
            ? `${title} is not installed: ${install}`
            : `${title}: ${unused}`;
        return finding(`agent ${name}`, "info", says);
      }
      const about = [
        title,
        found.version,
        ...(untested === undefined ? [] : ["(untested)"]),
      ]
        .filter(Boolean)
        .join(" ");
      return finding(
        `agent ${name}`,
        "good",
        `${about}, ${found.path}. To log in, ${login}`,
      );
    },
  );
}

/**
 * Runs a program in the sandbox that a server which is started here would find.
 */
async function sandbox(data: string): Promise<Finding> {
  const name = "sandbox";
  const signal = new AbortController().signal;
  try {
    const found = await findSandbox(
      "auto",
      { path: serverPath(), hidden: [data] },
      signal,
    );
    return finding(
      name,
      "info",
      found.notice || `${found.name} confines shell commands: ${found.promise}`,
    );
  } catch (reason) {
    return finding(name, "bad", errorMessage(reason));
  }
}

/** Looks a program up where a server that is started here would. */
function program(name: string, use: string): Finding {
  const programs = new HostPrograms(serverPath());
  const path = programs.find(name, []);
  const needed = name === "bash";
  const verdict = needed ? (path === undefined ? "bad" : "good") : "info";
  const says =
    path === undefined
      ? `not found, ${use}: ${programs.remedy(name)}`
      : `${path}: ${use}`;
  return { name, verdict, says };
}

function serverPath(): string {
  return sortSearchPath(process.env.PATH ?? "", [process.cwd()]).trusted.join(
    delimiter,
  );
}
