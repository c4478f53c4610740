import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as timer } from "node:timers/promises";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import {
  timestampFromDate,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { failpoint } from "@devtool/internal/failpoint";
import { replaceFile } from "@devtool/internal/replace-file";
import { Semaphore } from "@devtool/internal/semaphore";
import {
  emptyTask,
  findToolCall,
  findToolCallDetail,
  isEnded,
  type Task,
  ToolCallStatus,
  type UntoldCancel,
  UntoldCancelSchema,
} from "@devtool/schema";
import { type AgentServices, quoted } from "@devtool/server/agent";
import type {
  CalledAgent,
  CanceledCall,
  CancelKeeper,
} from "./called-agent.ts";

/** How long an agent is tried to be told, in milliseconds. */
const GIVE_UP_MS = 60 * 60_000;
/** The wait before the first try, which doubles, and its bound, in milliseconds. */
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 60_000;
/** The maximum number of cancellations that a data directory keeps. */
const MAX_KEPT = 256;
/** The maximum number of agents that are tried to be told at the same time. */
const MAX_TRIES = 8;

const FILE = /^untold-cancel-[0-9a-f]{64}\.json$/;

/** Dependencies of `UntoldCancels`. */
interface UntoldServices
  extends Pick<AgentServices, "dataDirectory" | "now" | "onNotice"> {
  readonly agents: Pick<AgentServices["agents"], "transportFor">;
}

/** What came of a try: `"later"` for a call that has not ended itself yet. */
type Fate = "told" | "dropped" | "later";

/**
 * The cancellations that called agents could not be told, a file each in the
 * data directory. Tries each again after 1 to 60 seconds, also after a restart,
 * and gives up after an hour, which the operator is told.
 *
 * Several may have one data directory, as the agents of a server do: whoever
 * removes the file has told the agent. What is told twice has one effect, as
 * canceling has.
 *
 * A file only says where to look. What counts is the log of the calling task:
 * without such a call in it, nobody is told.
 */
export class UntoldCancels implements CancelKeeper, Disposable {
  readonly #services: UntoldServices;
  readonly #delay: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly #closed = new AbortController();
  readonly #tries = new Semaphore(MAX_TRIES);
  /** What is tried, by the paths of the files. */
  readonly #kept = new Map<
    string,
    { readonly cancel: UntoldCancel; readonly dropped: AbortController }
  >();

  /**
   * @param delay waits, and rejects when the signal aborts. Default: a timer
   */
  constructor(
    services: UntoldServices,
    delay: (ms: number, signal: AbortSignal) => Promise<unknown> = (
      ms,
      signal,
    ) => timer(ms, undefined, { signal, ref: false }),
  ) {
    this.#services = services;
    this.#delay = delay;
  }

  /**
   * Goes on with what is in the data directory.
   *
   * @param agentsOf returns the agents that a task may call
   */
  async resume(
    agentsOf: (task: Task) => Promise<readonly CalledAgent[]>,
  ): Promise<void> {
    const { dataDirectory = "", now, onNotice } = this.#services;
    for (const name of await filesIn(dataDirectory)) {
      const path = join(dataDirectory, name);
      try {
        const text = await readFile(path, "utf8");
        const cancel = fromJsonString(UntoldCancelSchema, text);
        if (fileOf(cancel) !== name) throw new Error("it has another name");
        // A clock that was set back ends no later.
        const { createTime } = cancel;
        const sinceMs = createTime ? timestampMs(createTime) : 0;
        const startMs = Math.min(sinceMs, now().getTime());
        void this.#follow(
          path,
          { ...cancel, createTime: timestampFromMs(startMs) },
          async (task) =>
            (await agentsOf(task)).find(
              (agent) =>
                agent.name === cancel.agent &&
                agent.definitionHash === cancel.definitionHash,
            ),
        );
      } catch (reason) {
        const { rawMessage } = ConnectError.from(reason);
        onNotice(
          `file ${JSON.stringify(path)} cannot be used: ${rawMessage}: no agent is told, remove the file`,
        );
      }
    }
  }

  async keep(agent: CalledAgent, call: CanceledCall): Promise<boolean> {
    const { dataDirectory, now, onNotice } = this.#services;
    if (dataDirectory === undefined) return false;
    const { task, toolCallId, taskId, conversation } = call;
    const cancel = create(UntoldCancelSchema, {
      ...{ parentTaskId: task.id, toolCallId, principal: task.principal },
      ...(task.sender && { sender: task.sender }),
      ...{ agent: agent.name, definitionHash: agent.definitionHash, taskId },
      contextId: conversation?.contextId ?? "",
      earlierTaskIds: [...(conversation?.taskIds ?? [])],
      createTime: timestampFromDate(now()),
    });
    const path = join(dataDirectory, fileOf(cancel));
    if (this.#kept.has(path)) return true;
    try {
      const { length } = await filesIn(dataDirectory);
      if (length >= MAX_KEPT) {
        throw new Error(`${length} are kept: limit is ${MAX_KEPT}`);
      }
      await replaceFile(path, `${toJsonString(UntoldCancelSchema, cancel)}\n`);
    } catch (reason) {
      const { rawMessage } = ConnectError.from(reason);
      onNotice(`${about(cancel)} is not told later: ${rawMessage}`);
      return false;
    }
    void this.#follow(path, cancel, async () => agent);
    return true;
  }

  async drop(agentName: string, taskId: string): Promise<void> {
    for (const [path, { cancel, dropped }] of this.#kept) {
      if (cancel.agent !== agentName || cancel.taskId !== taskId) continue;
      dropped.abort();
      await remove(path);
    }
  }

  /** Ends all tries. What is not told stays in the data directory. */
  [Symbol.dispose](): void {
    this.#closed.abort();
  }

  /** Tries to tell an agent until it is told, or for an hour. */
  async #follow(
    path: string,
    cancel: UntoldCancel,
    agentOf: (task: Task) => Promise<CalledAgent | undefined>,
  ): Promise<void> {
    const { now, onNotice } = this.#services;
    const { createTime } = cancel;
    const endMs = (createTime ? timestampMs(createTime) : 0) + GIVE_UP_MS;
    const dropped = new AbortController();
    this.#kept.set(path, { cancel, dropped });
    const signal = AbortSignal.any([dropped.signal, this.#closed.signal]);
    let problem = "the call has not ended";
    try {
      for (let waitMs = MIN_WAIT_MS; ; waitMs *= 2) {
        await this.#delay(Math.min(waitMs, MAX_WAIT_MS), signal);
        // Another agent of the server has told it.
        if (!existsSync(path)) return;
        let fate: Fate = "later";
        try {
          fate = await this.#tell(cancel, agentOf, signal);
        } catch (reason) {
          signal.throwIfAborted();
          problem = ConnectError.from(reason).rawMessage;
        }
        const isLate = now().getTime() >= endMs;
        if (fate === "later" && !isLate) continue;
        if (!(await remove(path)) || fate === "dropped") return;
        onNotice(
          fate === "told"
            ? `${about(cancel)} is told now`
            : `${about(cancel)} could not be told within an hour: ${problem}; its work may go on`,
        );
        return;
      }
    } catch (reason) {
      if (signal.aborted) return;
      const { rawMessage } = ConnectError.from(reason);
      onNotice(`${about(cancel)} is not told any more: ${rawMessage}`);
    } finally {
      this.#kept.delete(path);
    }
  }

  /** Tells an agent, if the log says so. Throws when it cannot be told. */
  async #tell(
    cancel: UntoldCancel,
    agentOf: (task: Task) => Promise<CalledAgent | undefined>,
    until: AbortSignal,
  ): Promise<Fate> {
    using _turn = await this.#tries.acquire(until);
    const { cancelWork } = await import("./call-ids.ts");
    const { CANCEL_MS } = await import("./child-task.ts");
    const limit = AbortSignal.timeout(CANCEL_MS);
    const signal = AbortSignal.any([until, limit]);
    const { toolCallId, agent: name } = cancel;
    const task = await this.#callingTask(cancel, signal);
    const call = task && findToolCall(task, toolCallId);
    const detail = task && findToolCallDetail(task, toolCallId);
    const { delegation, parentToolCallId = "" } = detail ?? {};
    const isOfAgent =
      delegation?.agent === name &&
      delegation.mcpServer === "" &&
      parentToolCallId === "";
    if (!task || !call || !isOfAgent) {
      const { onNotice } = this.#services;
      onNotice(`${about(cancel)} is not told: no log has such a call`);
      return "dropped";
    }
    if (!isEnded(call)) return "later";
    // It went on after a kill, and its work has ended.
    if (call.status === ToolCallStatus.SUCCEEDED) return "dropped";
    const agent = await agentOf(task);
    if (!agent) throw new Error("this server has no such agent any more");
    const { task_id: taskId } = call.inputParameters ?? {};
    const { contextId, earlierTaskIds } = cancel;
    const connection = await agent.connect(task, signal);
    await cancelWork(
      {
        ...{ agent, place: { task, toolCallId } },
        taskId: typeof taskId === "string" ? taskId : "",
        ...(contextId !== "" && {
          conversation: { contextId, taskIds: earlierTaskIds },
        }),
      },
      connection,
      signal,
    );
    return "told";
  }

  /** Reads the calling task as its caller can; undefined for one that is gone. */
  async #callingTask(
    { parentTaskId, principal, sender }: UntoldCancel,
    signal: AbortSignal,
  ): Promise<Task | undefined> {
    const { createDevtoolClient } = await import("@devtool/client");
    const caller = { principal, ...(sender && { sender }) };
    const transport = await this.#services.agents.transportFor({
      ...emptyTask(),
      ...caller,
    });
    const { tasks } = createDevtoolClient(transport);
    try {
      const { task } = await tasks.getTask(
        { taskId: parentTaskId },
        { signal },
      );
      return task && { ...task, ...caller };
    } catch (reason) {
      if (ConnectError.from(reason).code === Code.NotFound) return undefined;
      throw reason;
    }
  }
}

/** Returns the name of the file of a cancellation. */
function fileOf({ parentTaskId, toolCallId }: UntoldCancel): string {
  const name = hash("sha256", JSON.stringify([parentTaskId, toolCallId]));
  return `untold-cancel-${name}.json`;
}

async function filesIn(dataDirectory: string): Promise<readonly string[]> {
  if (dataDirectory === "") return [];
  const names = await readdir(dataDirectory).catch(() => []);
  return names.filter((name) => FILE.test(name));
}

/** Removes a file. Returns whether it was there. */
async function remove(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  failpoint("devtool:untold-cancel.remove.before");
  await rm(path, { force: true });
  failpoint("devtool:untold-cancel.remove.after");
  return true;
}

function about({ agent, parentTaskId }: UntoldCancel): string {
  return `the cancellation of what task ${quoted(parentTaskId)} gave agent ${quoted(agent)}`;
}
