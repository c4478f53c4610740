import { randomUUID } from "node:crypto";
import { mkdir, realpath } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { DevtoolClient } from "@devtool/client";
import { isInside } from "@devtool/server/operator";
import type { Address } from "./address.ts";
import {
  type ConnectionOptions,
  clientOf,
  connectionTo,
  findServer,
  notifierOf,
  UnprovenServerError,
} from "./connection.ts";
import { defaultDataDirectory } from "./discovery.ts";
import type { Io } from "./io.ts";
import { assertServes } from "./platform.ts";

/** What a job needs of a server. */
export interface JobOptions extends ConnectionOptions {
  readonly workspace?: string;
  readonly task?: string;
}

/** A server to give a job to, closed afterwards when it was started for it. */
export interface JobServer extends AsyncDisposable {
  readonly client: DevtoolClient;
  /** Where the agent works; undefined leaves that to the server. */
  readonly workspace: string | undefined;
  /** The file that keeps the task and why each of its calls ran; empty when the server was not started for the job. */
  readonly log: string;
}

/**
 * Finds a server for a job: the one that is named, the one that has the task, or the one that runs, when it may work in the
 * workspace. Otherwise starts one for the time of the job, and says why when another runs.
 */
export async function serverForJob(options: JobOptions, io: Io): Promise<JobServer> {
  const notify = notifierOf(io);
  const address = await running(options, { io, notify });
  const workspace = resolve(options.workspace ?? ".");
  if (!address) return startServer(workspace, options, io);
  const isNamed = options.url !== undefined || options.task !== undefined || !address.info;
  const roots = address.info?.workspaceRoots ?? [];
  if (!isNamed && !(await isInsideOne(workspace, roots))) {
    const known = roots.join(", ");
    notify(
      `the running server does not work in ${workspace}, only in ${known} (add directories with "devtool serve --root"): starting another for this job`,
    );
    return startServer(workspace, options, io);
  }
  const { client } = await connectionTo(address, { ...options, io, notify });
  const where = isNamed ? options.workspace && workspace : workspace;
  return { client, workspace: where, log: "", [Symbol.asyncDispose]: () => Promise.resolve() };
}

interface Telling {
  readonly io: Io;
  readonly notify: (text: string) => void;
}

/** The server that runs. One that cannot prove who it is counts as none, which is said: the job needs no other. */
async function running(options: JobOptions, { io, notify }: Telling): Promise<Address | undefined> {
  try {
    return await findServer(options, io);
  } catch (reason) {
    if (!(reason instanceof UnprovenServerError) || options.task !== undefined) throw reason;
    notify(`${reason.message}; starting one for this job`);
    return undefined;
  }
}

async function startServer(workspace: string, options: JobOptions, io: Io): Promise<JobServer> {
  assertServes(io);
  const { codingAgent } = await import("@devtool/coding-agent");
  const { createServer } = await import("@devtool/server");
  const { agentOptions, operatorConfig } = await import("./agent-options.ts");
  const { agentSpecs, loadAgents } = await import("./agent-modules.ts");
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  const operator = await operatorConfig(undefined, data);
  const configured = await agentOptions(operator, io);
  await mkdir(workspace, { recursive: true });
  const log = join(data, "jobs", `${new Date().toISOString().replaceAll(":", "-")}-${randomUUID().slice(0, 8)}.db`);
  const server = await createServer({
    ...configured,
    agents: await loadAgents(agentSpecs([], operator), () => codingAgent(configured)),
    workspace,
    // The rules, approvals and trust of every server of this user hold for this one too, and none of its tools sees them.
    dataDirectory: data,
    // Other jobs and a server that is started meanwhile have files of their own.
    taskFile: relative(data, log),
  });
  const { url, token } = server;
  const certificate = configured.tls?.certificate;
  const client = await clientOf({ url, token, ...(certificate && { certificate }) }, options.protocol ?? "connect");
  return { client, workspace, log, [Symbol.asyncDispose]: () => server.close() };
}

/** Whether a directory lies in one of some others, links resolved. One that is missing lies nowhere. */
async function isInsideOne(path: string, roots: readonly string[]): Promise<boolean> {
  const [real, ...realRoots] = await Promise.all([path, ...roots].map((each) => realpath(each).catch(() => undefined)));
  if (real === undefined) return false;
  return realRoots.some((root) => root !== undefined && isInside(root, real));
}
