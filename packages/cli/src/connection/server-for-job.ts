import { createHash, randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { DevtoolClient, ResumeOptions } from "@devtool/client";
import type { CodingServerOptions } from "@devtool/coding-agent";
import { defined } from "@devtool/internal/json";
import { isInside } from "@devtool/internal/real-path";
import { ApprovalMode } from "@devtool/schema";
import type { Agent, DevtoolServer, ServerOptions } from "@devtool/server";
import type { agentOptions, OperatorConfig } from "../agents/agent-options.ts";
import type { Io } from "../io.ts";
import { serverPath } from "../server-path.ts";
import { ensureWorkspace } from "../workspace-directory.ts";
import type { Address } from "./address.ts";
import {
  type Connection,
  type ConnectionOptions,
  connectionTo,
  createClient,
  createNotifier,
  findServer,
} from "./connection.ts";
import { defaultDataDirectory } from "./discovery.ts";
import { UnprovenServerError } from "./server-identity.ts";

/** The options by which a server for a job is found. */
export interface JobOptions extends ConnectionOptions {
  readonly workspace?: string;
  readonly task?: string;
  /**
   * The model of the job. For a server that is started for it, as in
   * `devtool serve --model`.
   */
  readonly model?: string;
  /**
   * Whether the job is an editor's, whose sessions a later run finds again. Its
   * user is asked before an MCP server of the editor starts as a program.
   */
  readonly isForEditor?: boolean;
  /**
   * Files of workflows that a server of its own serves for the job. Default:
   * none.
   */
  readonly workflows?: readonly string[];
}

/**
 * A server for a job. Disposing of it closes it if it was started for this job.
 */
export interface JobServer extends AsyncDisposable {
  readonly client: DevtoolClient;
  /**
   * The directory that the agent works in; undefined for the server's default.
   */
  readonly workspace: string | undefined;
  /** Where the server is, and how it is called. */
  readonly address: Address;
  /**
   * The agents that clients can choose by name, the default first; empty when
   * there is one or when they are not known.
   */
  readonly agents: readonly string[];
  /** The modes that the operator allows; undefined when they are not known. */
  readonly approvalMode: ApprovalMode | undefined;
  /**
   * The model to request of the server. Empty when it has the wanted one
   * already.
   */
  readonly model: string;
  /**
   * The file with the task and its audit log; empty when the server was not
   * started for this job.
   */
  readonly log: string;
  /** How lost streams are resumed, and the user is told. */
  readonly resume: ResumeOptions;
  /**
   * Whether the server is an A2A agent without the extension, or one that is
   * not devtool's.
   */
  readonly foreign?: Connection["foreign"];
}

/**
 * Finds a server for a job: the named one, the one that has the task, or the
 * running one if it allows the workspace.
 *
 * Otherwise starts a server for the duration of the job, and tells the user why
 * if another one is running.
 */
export async function serverForJob(
  options: JobOptions,
  io: Io,
): Promise<JobServer> {
  const notify = createNotifier(io);
  const address = await findServer(
    options,
    io,
    new AbortController().signal,
  ).catch((reason: unknown) => {
    // A server that cannot prove its identity is not used, except that only it
    // may have the task.
    if (
      !(reason instanceof UnprovenServerError) ||
      options.task !== undefined
    ) {
      throw reason;
    }
    notify(`${reason.message}; starting another server for this job`);
    return undefined;
  });
  const workspace = resolve(options.workspace ?? ".");
  if (options.workflows) return startServer(workspace, options, io);
  if (!address) return startServer(workspace, options, io);
  const isNamed =
    options.url !== undefined || options.task !== undefined || !address.info;
  const roots = address.info?.workspaceRoots ?? [];
  if (!isNamed && !(await isInsideAny(workspace, roots))) {
    const known = roots.join(", ");
    notify(
      `the running server does not allow ${workspace}, only ${known} (add directories with "devtool serve --root"): starting another server for this job`,
    );
    return startServer(workspace, options, io);
  }
  const { client, resume, foreign } = await connectionTo(address, {
    ...options,
    io,
    notify,
  });
  // Agents with the extension may rely on the workspace of the first message,
  // which must name one; devtool's server has a default.
  const needsWorkspace = foreign === "extension" && options.task === undefined;
  const sent = isNamed ? serverPath(options.workspace ?? ".") : workspace;
  const where = isNamed && !needsWorkspace ? options.workspace && sent : sent;
  const { agents = [], approvalMode } = address.info ?? {};
  const { model = "" } = options;
  return {
    client,
    workspace: where,
    address,
    agents,
    approvalMode,
    model,
    log: "",
    resume,
    foreign,
    // The server goes on when the job ends.
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The maximum size of a request to an editor's own server. */
const MAX_PROMPT_BYTES: number = 32 * 1024 * 1024;

async function startServer(
  workspace: string,
  options: JobOptions,
  io: Io,
): Promise<JobServer> {
  const { createServer, defaultDialects } = await import("@devtool/server");
  const { codexQueues } = await import("@devtool/codex/queues");
  const { mcp } = await import("@devtool/mcp/server");
  const { agentOptions, operatorConfig } = await import(
    "../agents/agent-options.ts"
  );
  const { choicesOf } = await import("../agents/agent-modules.ts");
  const { isForEditor = false, protocol = "connect" } = options;
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  const operator = await operatorConfig(undefined, data);
  const configured = await agentOptions(operator, io, options.model);
  const agents = await ownAgents(
    { operator, configured, data, workspace, workflows: options.workflows },
    io,
  );
  const start: Start = (taskFile) =>
    createServer({
      ...configured,
      ...(isForEditor && {
        clientMcpServers: programsToo(configured),
        // Prompts have the images and files of the editor.
        limits: { maxRequestBytes: MAX_PROMPT_BYTES },
      }),
      agents,
      dialects: [codexQueues(), mcp(), ...defaultDialects()],
      workspace,
      // The user's rules, approvals and trust apply to this server too, and are
      // hidden from its tools.
      dataDirectory: data,
      // A server that is started meanwhile uses another file.
      taskFile: relative(data, taskFile),
    });
  const { server, log } = isForEditor
    ? await startForEditor(start, await editorLog(data, workspace), data, io)
    : await startAt(start, jobLog(data));
  const { url, token } = server;
  const { certificate } = configured.tls ?? {};
  const address = defined({ url, token, certificate });
  const client = await createClient(address, protocol);
  return {
    client,
    workspace,
    address,
    agents: choicesOf(agents),
    approvalMode: configured.approvalMode ?? ApprovalMode.DEFAULT,
    model: "",
    log,
    resume: {},
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** What a server of a job's own serves. */
interface OwnServer {
  readonly operator: OperatorConfig;
  readonly configured: Awaited<ReturnType<typeof agentOptions>>;
  /** The data directory. */
  readonly data: string;
  readonly workspace: string;
  /** The files of workflows of the job. */
  readonly workflows: readonly string[] | undefined;
}

async function ownAgents(
  { operator, configured, data, workspace, workflows = [] }: OwnServer,
  io: Io,
): Promise<Readonly<Record<string, Agent>>> {
  const { codingAgent } = await import("@devtool/coding-agent");
  const { agentMakers } = await import("../agents/agent-makers.ts");
  const { agentSpecs, loadAgents } = await import("../agents/agent-modules.ts");
  const { OperatorIde } = await import("../agents/user-ide.ts");
  const { userWorkflows } = await import("../agents/user-workflows.ts");
  const onNotice = createNotifier(io);
  if ((await ensureWorkspace(workspace)) === "new") {
    onNotice(`made the directory ${workspace} to work in`);
  }
  const ide = new OperatorIde({ ...configured, dataDirectory: data, onNotice });
  return loadAgents(
    agentSpecs([], operator),
    agentMakers(
      configured,
      { env: io.env, workspaces: [workspace], data, ide, onNotice },
      () => codingAgent(withCheckedAddresses(configured)),
    ),
    workflows.map((path) => resolve(path)),
    await userWorkflows(data),
  );
}

/** A server that was started, and the file with its tasks. */
interface StartedServer {
  readonly server: DevtoolServer;
  readonly log: string;
}

type Start = (taskFile: string) => Promise<DevtoolServer>;

async function startAt(start: Start, log: string): Promise<StartedServer> {
  return { server: await start(log), log };
}

/**
 * Starts a server on the file of earlier runs. When that cannot be used, because
 * another window of the editor works in the directory, the server gets a file of
 * its own.
 */
async function startForEditor(
  start: Start,
  log: string,
  data: string,
  io: Io,
): Promise<StartedServer> {
  const { Code, DevtoolError } = await import("@devtool/server");
  try {
    return await startAt(start, log);
  } catch (reason) {
    const { code, message } = DevtoolError.from(reason);
    if (code !== Code.FailedPrecondition) throw reason;
    createNotifier(io)(
      `${message}; the sessions of this run are not found again by a later one`,
    );
    return startAt(start, jobLog(data));
  }
}

/** Returns a file for the tasks of one job. */
function jobLog(data: string): string {
  const time = new Date().toISOString().replaceAll(":", "-");
  return join(data, "jobs", `${time}-${randomUUID().slice(0, 8)}.db`);
}

/** Returns the file for the tasks of the editors that work in a directory. */
async function editorLog(data: string, workspace: string): Promise<string> {
  const place = createHash("sha256").update(await realpath(workspace));
  return join(data, "editors", `${place.digest("hex").slice(0, 16)}.db`);
}

/**
 * Returns the options of an agent whose clients' MCP servers at an address are
 * checked, also where clients may add programs.
 */
function withCheckedAddresses(
  options: CodingServerOptions,
): CodingServerOptions {
  const { mcp, clientMcpServers = "http" } = options;
  if (!mcp) return options;
  return {
    ...options,
    mcp: { open: (services) => mcp.open({ ...services, clientMcpServers }) },
  };
}

/**
 * Returns which MCP servers the client of an editor's own server may add: also
 * programs, about each of which it asks its user, unless the operator allows
 * none.
 */
function programsToo({
  clientMcpServers,
}: Pick<ServerOptions, "clientMcpServers">): "none" | "all" {
  return clientMcpServers === "none" ? "none" : "all";
}

/**
 * Whether a directory is in one of the roots, with links resolved. One that
 * does not exist yet is in no root.
 */
async function isInsideAny(
  path: string,
  roots: readonly string[],
): Promise<boolean> {
  const [real, ...realRoots] = await Promise.all(
    [path, ...roots].map((each) => realpath(each).catch(() => undefined)),
  );
  if (real === undefined) return false;
  return realRoots.some((root) => root !== undefined && isInside(root, real));
}
