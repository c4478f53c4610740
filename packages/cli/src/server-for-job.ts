import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { DevtoolClient } from "@devtool/client";
import { ApprovalMode } from "@devtool/schema";
import { defined } from "@devtool/schema/json";
import { isInside } from "@devtool/server/operator";
import type { Address } from "./address.ts";
import {
  type ConnectionOptions,
  connectionTo,
  createClient,
  createNotifier,
  findServer,
} from "./connection.ts";
import { defaultDataDirectory } from "./discovery.ts";
import type { Io } from "./io.ts";
import { assertServes } from "./platform.ts";
import { UnprovenServerError } from "./server-identity.ts";
import { ensureWorkspace } from "./workspace-directory.ts";

/** The options by which a server for a job is found. */
export interface JobOptions extends ConnectionOptions {
  readonly workspace?: string;
  readonly task?: string;
  /**
   * The model of the job. For a server that is started for it, as in
   * `devtool serve --model`.
   */
  readonly model?: string;
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
  const { client } = await connectionTo(address, { ...options, io, notify });
  const where = isNamed ? options.workspace && workspace : workspace;
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
    // The server goes on when the job ends.
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function startServer(
  workspace: string,
  options: JobOptions,
  io: Io,
): Promise<JobServer> {
  assertServes(io);
  const { codingAgent } = await import("@devtool/coding-agent");
  const { createServer } = await import("@devtool/server");
  const { agentOptions, operatorConfig } = await import("./agent-options.ts");
  const { permissionPolicy } = await import("./agent-permission.ts");
  const { agentSpecs, choicesOf, loadAgents } = await import(
    "./agent-modules.ts"
  );
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  const operator = await operatorConfig(undefined, data);
  const configured = await agentOptions(operator, io, options.model);
  if ((await ensureWorkspace(workspace)) === "new") {
    createNotifier(io)(`made the directory ${workspace} to work in`);
  }
  const log = join(
    data,
    "jobs",
    `${new Date().toISOString().replaceAll(":", "-")}-${randomUUID().slice(0, 8)}.db`,
  );
  const agents = await loadAgents(agentSpecs([], operator), {
    codingAgent: () => codingAgent(configured),
    place: {
      env: io.env,
      workspaces: [workspace],
      approvalMode: configured.approvalMode,
      permission: () =>
        permissionPolicy({ ...configured, dataDirectory: data }),
    },
  });
  const server = await createServer({
    ...configured,
    agents,
    workspace,
    // The user's rules, approvals and trust apply to this server too, and are
    // hidden from its tools.
    dataDirectory: data,
    // Other jobs, and a server that is started meanwhile, use other files.
    taskFile: relative(data, log),
  });
  const { url, token } = server;
  const { certificate } = configured.tls ?? {};
  const address = defined({ url, token, certificate });
  const client = await createClient(address, options.protocol ?? "connect");
  const { approvalMode = ApprovalMode.DEFAULT } = configured;
  return {
    client,
    workspace,
    address,
    agents: choicesOf(agents),
    approvalMode,
    model: "",
    log,
    [Symbol.asyncDispose]: () => server.close(),
  };
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
