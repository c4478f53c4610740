import type { JsonObject } from "@bufbuild/protobuf";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import type { Task } from "@devtool/schema";
import {
  assertWorkspaceInPlace,
  Code,
  DevtoolError,
  type StdioCommand,
  type Turn,
} from "@devtool/server/agent";
import { AppServer, type AppServerLimits } from "./app-server/app-server.ts";
import type { CodexOptions } from "./codex-options.ts";
import type { LoadedThread, ThreadPool } from "./thread-pool.ts";
import { threadSettings } from "./thread-settings.ts";

/** The dependencies of `openThread`. */
export interface ThreadHost {
  readonly options: CodexOptions;
  /** The command of an app-server. */
  readonly command: Omit<StdioCommand, "workingDirectory">;
  readonly limits: AppServerLimits;
  readonly pool: ThreadPool;
}

/** The thread in which a turn works. */
export interface OpenThread extends LoadedThread {
  readonly threadId: string;
  /** A notice about the thread for the user; empty when there is none. */
  readonly warning: string;
}

/**
 * Loads the thread of a task's conversation, or starts one: in the idle
 * app-server that has it, or in a new one. The caller gives it back to the
 * pool.
 */
export async function openThread(
  host: ThreadHost,
  { task, sessionFence: fence }: Turn,
  signal: AbortSignal,
): Promise<OpenThread> {
  const { pool, command, limits } = host;
  const origin = task.history[0]?.fork?.agentSessionId ?? "";
  const isFork = task.agentSessionId === "" && origin !== "";
  const known = isFork ? origin : task.agentSessionId;
  // Another task of the conversation works in its thread, or it is that of the
  // conversation that this one goes on with: this one continues in a copy.
  const isShared = isFork || (known !== "" && pool.isBusy(known));
  const idle = known === "" || isShared ? undefined : pool.take(known);
  let server = idle?.server;
  try {
    // Another server may have had turns of which an idle app-server knows
    // nothing.
    if (idle?.fence === fence && (await isAlive(idle.server, signal))) {
      return { ...idle, threadId: known, warning: "" };
    }
    await server?.[Symbol.asyncDispose]();
    // Another server may have worked in the conversation for a while.
    assertWorkspaceInPlace(task.settings?.workspacePath ?? "");
    const workingDirectory = task.settings?.workspacePath || process.cwd();
    server = await AppServer.start(
      { ...command, workingDirectory },
      limits,
      signal,
    );
    const settings = await settingsIn(server, host.options, task, signal);
    const opened = await loadThread(
      server,
      settings,
      { known, method: isShared ? "thread/fork" : "thread/resume", isFork },
      signal,
    );
    if (!isShared && opened.threadId !== known) pool.drop(known);
    pool.take(opened.threadId);
    return { server, fence, ...opened };
  } catch (reason) {
    if (!isShared) pool.drop(known);
    await server?.[Symbol.asyncDispose]();
    throw reason;
  }
}

/**
 * Returns the settings with which a thread is opened. Codex does not show
 * summaries of thoughts by default. With an API key, OpenAI refuses them to
 * organizations that are not verified.
 */
async function settingsIn(
  server: AppServer,
  options: CodexOptions,
  task: Task,
  signal: AbortSignal,
): Promise<JsonObject> {
  const plain = threadSettings(options, task);
  const read = await server.call("account/read", {}, signal);
  const { account } = read.case === "result" ? read.value : {};
  if (account === undefined || objectOrEmpty(account).type === "apiKey") {
    return plain;
  }
  const config = {
    model_reasoning_summary: "auto",
    ...objectOrEmpty(plain.config),
  };
  return { ...plain, config };
}

/**
 * Opens the known thread of a conversation, or a copy of it. Opens a new one,
 * with a warning, when Codex refuses that, and when none is known. Throws when it
 * refuses a copy for a new conversation, which would not go on with the other.
 */
async function loadThread(
  server: AppServer,
  settings: JsonObject,
  {
    known,
    method,
    isFork,
  }: {
    readonly known: string;
    readonly method: "thread/resume" | "thread/fork";
    readonly isFork: boolean;
  },
  signal: AbortSignal,
): Promise<Omit<OpenThread, "server" | "fence">> {
  let warning = "";
  if (known !== "") {
    const params = { ...settings, threadId: known, excludeTurns: true };
    const reply = await server.call(method, params, signal);
    if (reply.case === "result") {
      return { ...openedThread(settings, reply.value), warning };
    }
    if (isFork) {
      const problem = `Codex cannot fork the conversation: ${reply.message}`;
      throw new DevtoolError(problem, Code.FailedPrecondition);
    }
    warning = `Codex cannot continue the conversation and begins a new one: ${reply.message}`;
  }
  const reply = await server.request("thread/start", settings, signal);
  return { ...openedThread(settings, reply), warning };
}

/**
 * Whether an idle app-server still answers: it may have ended since, unnoticed.
 */
async function isAlive(
  server: AppServer,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await server.call("account/read", {}, signal);
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** Reads the answer to a request that opened a thread. */
function openedThread(
  settings: JsonObject,
  reply: JsonObject,
): Pick<OpenThread, "threadId" | "sandbox" | "model" | "provider"> {
  const threadId = stringOrEmpty(objectOrEmpty(reply.thread).id);
  if (threadId === "") {
    throw new DevtoolError(
      "Codex opened a thread without an id",
      Code.Unavailable,
    );
  }
  const sandbox =
    settings.sandbox === "workspace-write" ? objectOrEmpty(reply.sandbox) : {};
  return {
    threadId,
    sandbox,
    model: stringOrEmpty(reply.model),
    provider: stringOrEmpty(reply.modelProvider),
  };
}
