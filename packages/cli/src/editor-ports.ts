import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Port, type PortAgent, portAgentFrom } from "@devtool/acp/port";
import { fetchAgentCard } from "@devtool/client/a2a";
import { defined } from "@devtool/internal/json";
import type { Address } from "./connection/address.ts";
import { type ConnectionOptions, trustIn } from "./connection/connection.ts";
import { type JobServer, serverForJob } from "./connection/server-for-job.ts";
import { urlProblem } from "./connection/url-problem.ts";
import type { Io } from "./io.ts";

/** The options by which servers for the directories of an editor are found. */
export interface EditorOptions extends ConnectionOptions {
  /** Directory on the server to work in, in place of the editor's. */
  readonly workspace?: string;
  /**
   * Names of the agents that the editor offers, on a server with several; the
   * first is that of sessions that choose none. Default: all.
   */
  readonly agent?: readonly string[];
}

/**
 * The servers for the directories that an editor opens: the running or named
 * one, or servers of its own, which end with the editor.
 */
export class EditorPorts implements AsyncDisposable {
  readonly #options: EditorOptions;
  readonly #io: Io;
  readonly #ports = new Map<string, Promise<EditorPort>>();

  constructor(options: EditorOptions, io: Io) {
    this.#options = {
      ...options,
      protocol:
        options.protocol ?? (options.url === undefined ? "connect" : "a2a"),
    };
    this.#io = io;
  }

  /**
   * Returns the server for a directory of the editor; without one, for the
   * directory that the editor started this command in.
   */
  async find(cwd: string | undefined): Promise<Port> {
    const { url, workspace } = this.#options;
    // Another machine does not have the editor's directories.
    if (url !== undefined) return (await this.#open("", workspace)).port;
    const directory = resolve(workspace ?? cwd ?? ".");
    if (
      workspace === undefined &&
      !(await stat(directory).catch(() => undefined))?.isDirectory()
    ) {
      const problem = `cwd ${JSON.stringify(directory)} is not a directory: create it, or choose another`;
      throw new ConnectError(problem, Code.InvalidArgument);
    }
    return (await this.#open(directory, directory)).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await Promise.allSettled(this.#ports.values());
    for (const each of opened) {
      if (each.status === "fulfilled") {
        await each.value.server[Symbol.asyncDispose]();
      }
    }
  }

  #open(key: string, workspace: string | undefined): Promise<EditorPort> {
    const known = this.#ports.get(key);
    if (known) return known;
    const opening = openPort(
      { ...this.#options, ...defined({ workspace }) },
      this.#io,
    );
    this.#ports.set(key, opening);
    // One that failed is tried again with the next session.
    opening.catch(() => this.#ports.delete(key));
    return opening;
  }
}

interface EditorPort {
  readonly port: Port;
  readonly server: JobServer;
}

async function openPort(options: EditorOptions, io: Io): Promise<EditorPort> {
  const server = await serverForJob(
    { ...options, isForEditor: true },
    io,
  ).catch((reason: unknown) => {
    throw options.url === undefined ? reason : urlProblem(options.url, reason);
  });
  try {
    const { client, workspace, log, address } = server;
    const names = options.agent ?? server.agents;
    const found = names.map(
      async (name) => [name, await agentAt(address, options, name)] as const,
    );
    const agents = new Map(await Promise.all(found));
    const [first = await agentAt(address, options)] = agents.values();
    const isOwn = log !== "";
    const port = { client, workspace, agent: first, agents, isOwn };
    return { port, server };
  } catch (reason) {
    await server[Symbol.asyncDispose]();
    throw reason;
  }
}

/**
 * Reads the card of an agent. A server that speaks Connect or gRPC may be one
 * without a card.
 */
async function agentAt(
  address: Address,
  { protocol }: EditorOptions,
  agent?: string,
): Promise<PortAgent> {
  const { fetch } = await trustIn(address.certificate);
  const path =
    agent === undefined ? "" : `/agents/${encodeURIComponent(agent)}`;
  try {
    const url = `${address.url.replace(/\/+$/, "")}${path}`;
    const card = await fetchAgentCard(
      { url, extension: "optional", fetch },
      AbortSignal.timeout(10_000),
    );
    return portAgentFrom(card);
  } catch (reason) {
    const { code } = ConnectError.from(reason);
    if (protocol === "a2a" || code !== Code.NotFound) {
      throw urlProblem(address.url, reason);
    }
    return {
      name: "agent",
      version: "",
      inputModes: ["text/plain"],
      hasExtension: true,
    };
  }
}
