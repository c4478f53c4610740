import { hash } from "node:crypto";
import { setTimeout as timer } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  timestampFromDate,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
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
import {
  type AgentServices,
  DevtoolError,
  quoted,
} from "@devtool/server/agent";
import type {
  CalledAgent,
  CanceledCall,
  CancelKeeper,
} from "./called-agent.ts";
import { CancelFiles, type CancelStorage } from "./cancel-files.ts";

/** How long an agent is tried to be told, in milliseconds. */
const GIVE_UP_MS = 60 * 60_000;
/** The wait before the first try, which doubles, and its bound, in milliseconds. */
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 60_000;
/**
 * The time between two looks for what other servers of a shared store keep, in
 * milliseconds.
 */
const LOOK_MS = 10_000;
/** The maximum number of cancellations that are kept in one place. */
const MAX_KEPT = 256;
/** The maximum number of agents that are tried to be told at the same time. */
const MAX_TRIES = 8;

/** Dependencies of `UntoldCancels`. */
interface UntoldServices
  extends Pick<
    AgentServices,
    "dataDirectory" | "untoldCancels" | "now" | "onNotice"
  > {
  readonly agents: Pick<AgentServices["agents"], "transportFor">;
}

/** Returns the agents that a task may call. */
type AgentsOf = (task: Task) => Promise<readonly CalledAgent[]>;

/**
 * What came of a try: `"later"` for a call that has not ended itself yet,
 * `"gone"` where another agent or server has told it.
 */
type Fate = "told" | "dropped" | "later" | "gone";

/**
 * The cancellations that called agents could not be told, in the store that
 * servers share or in the data directory, a file each. Tries each again after 1
 * to 60 seconds, also after a restart and at another server of the store, and
 * gives up after an hour, which the operator is told.
 *
 * Several may have one place, as the agents of a server do: whoever removes a
 * cancellation has told the agent. What is told twice has one effect, as
 * canceling has.
 *
 * What is kept only says where to look. What counts is the log of the calling
 * task: without such a call in it, nobody is told.
 */
export class UntoldCancels implements CancelKeeper, Disposable {
  readonly #services: UntoldServices;
  readonly #storage: CancelStorage | undefined;
  readonly #delay: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly #closed = new AbortController();
  readonly #tries = new Semaphore(MAX_TRIES);
  /** What ends the tries of each cancellation, by its id. */
  readonly #followed = new Map<string, AbortController>();
  /** The ids of what nobody can read. */
  readonly #unusable = new Set<string>();

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
    const { dataDirectory, untoldCancels } = services;
    this.#services = services;
    this.#storage =
      untoldCancels ??
      (dataDirectory === undefined
        ? undefined
        : new CancelFiles(dataDirectory));
    this.#delay = delay;
  }

  /**
   * Goes on with what is kept, also with what other servers keep later, and with
   * what was kept in the data directory before the store was shared.
   */
  async resume(agentsOf: AgentsOf): Promise<void> {
    await this.#moveFiles();
    await this.#take(agentsOf);
    if (this.#services.untoldCancels) void this.#watch(agentsOf);
  }

  async keep(agent: CalledAgent, call: CanceledCall): Promise<boolean> {
    const { now, onNotice } = this.#services;
    const storage = this.#storage;
    if (!storage) return false;
    const { task, toolCallId, taskId, conversation } = call;
    const cancel = create(UntoldCancelSchema, {
      ...{ parentTaskId: task.id, toolCallId, principal: task.principal },
      ...(task.sender && { sender: task.sender }),
      ...{ agent: agent.name, definitionHash: agent.definitionHash, taskId },
      contextId: conversation?.contextId ?? "",
      earlierTaskIds: [...(conversation?.taskIds ?? [])],
      createTime: timestampFromDate(now()),
    });
    const id = idOf(cancel);
    if (this.#followed.has(id)) return true;
    try {
      const { length } = await storage.list();
      if (length >= MAX_KEPT) {
        throw new Error(`${length} are kept: limit is ${MAX_KEPT}`);
      }
      await storage.put(id, cancel);
    } catch (reason) {
      const { rawMessage } = ConnectError.from(reason);
      onNotice(`${about(cancel)} is not told later: ${rawMessage}`);
      return false;
    }
    void this.#follow(storage, cancel, async () => agent);
    return true;
  }

  async drop(agentName: string, taskId: string): Promise<void> {
    const storage = this.#storage;
    for (const id of (await storage?.list()) ?? []) {
      const cancel = await storage?.read(id).catch(() => undefined);
      if (cancel?.agent !== agentName || cancel.taskId !== taskId) continue;
      this.#followed.get(id)?.abort();
      await storage?.delete(id);
    }
  }

  /** Ends all tries. What is not told stays where it is kept. */
  [Symbol.dispose](): void {
    this.#closed.abort();
  }

  /** Moves what the data directory keeps to the store that servers share. */
  async #moveFiles(): Promise<void> {
    const { dataDirectory, untoldCancels } = this.#services;
    if (dataDirectory === undefined || !untoldCancels) return;
    const files = new CancelFiles(dataDirectory);
    for (const id of await files.list()) {
      try {
        const cancel = await readKept(files, id);
        if (!cancel) continue;
        await untoldCancels.put(id, cancel);
        await files.delete(id);
      } catch (reason) {
        this.#leaveOut(fileOf(id), reason);
      }
    }
  }

  /** Takes what servers of a shared store keep that may have died since. */
  async #watch(agentsOf: AgentsOf): Promise<void> {
    for (;;) {
      try {
        await this.#delay(LOOK_MS, this.#closed.signal);
        await this.#take(agentsOf);
      } catch {
        // The server reports an outage of its store; the next look comes.
        if (this.#closed.signal.aborted) return;
      }
    }
  }

  /** Follows what is kept and not followed here. */
  async #take(agentsOf: AgentsOf): Promise<void> {
    const storage = this.#storage;
    const { now, untoldCancels } = this.#services;
    for (const id of (await storage?.list()) ?? []) {
      if (this.#followed.has(id) || this.#unusable.has(id)) continue;
      try {
        const cancel = storage && (await readKept(storage, id));
        if (!storage || !cancel) continue;
        // A clock that was set back ends no later.
        const { createTime } = cancel;
        const sinceMs = createTime ? timestampMs(createTime) : 0;
        const startMs = Math.min(sinceMs, now().getTime());
        void this.#follow(
          storage,
          { ...cancel, createTime: timestampFromMs(startMs) },
          async (task) =>
            (await agentsOf(task)).find(
              ({ name, isOwnServer, definitionHash }) =>
                name === cancel.agent &&
                // The work of an agent of this server is here, whatever its URL.
                (isOwnServer || definitionHash === cancel.definitionHash),
            ),
        );
      } catch (reason) {
        this.#leaveOut(untoldCancels ? rowOf(id) : fileOf(id), reason);
        this.#unusable.add(id);
      }
    }
  }

  /** Says that nobody can use what is kept. Throws where the store is away. */
  #leaveOut(where: string, reason: unknown): void {
    if (DevtoolError.from(reason).code === Code.Unavailable) throw reason;
    const { rawMessage } = ConnectError.from(reason);
    this.#services.onNotice(
      `the cancellation that is kept as ${where} cannot be used: ${rawMessage}: no agent is told, remove it`,
    );
  }

  /** Tries to tell an agent until it is told, or for an hour. */
  async #follow(
    storage: CancelStorage,
    cancel: UntoldCancel,
    agentOf: (task: Task) => Promise<CalledAgent | undefined>,
  ): Promise<void> {
    const { now, onNotice } = this.#services;
    const { createTime } = cancel;
    const endMs = (createTime ? timestampMs(createTime) : 0) + GIVE_UP_MS;
    const id = idOf(cancel);
    if (this.#followed.has(id)) return;
    const dropped = new AbortController();
    this.#followed.set(id, dropped);
    const signal = AbortSignal.any([dropped.signal, this.#closed.signal]);
    let problem = "the call has not ended";
    try {
      for (let waitMs = MIN_WAIT_MS; ; waitMs *= 2) {
        await this.#delay(Math.min(waitMs, MAX_WAIT_MS), signal);
        let fate: Fate = "later";
        try {
          const isKept = await storage.read(id);
          fate = isKept
            ? await this.#tell(storage, cancel, agentOf, signal)
            : "gone";
        } catch (reason) {
          signal.throwIfAborted();
          problem = ConnectError.from(reason).rawMessage;
        }
        if (fate === "gone") return;
        const isLate = now().getTime() >= endMs;
        if (fate === "later" && !isLate) continue;
        if (!(await storage.delete(id)) || fate === "dropped") return;
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
      this.#followed.delete(id);
    }
  }

  /** Tells an agent, if the log says so. Throws when it cannot be told. */
  async #tell(
    storage: CancelStorage,
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
    // Another server may have dropped it meanwhile, for new work of that task.
    if (!(await storage.read(idOf(cancel)))) return "gone";
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

/** Reads what is kept. Throws for what was written under another id. */
async function readKept(
  storage: CancelStorage,
  id: string,
): Promise<UntoldCancel | undefined> {
  const cancel = await storage.read(id);
  if (cancel && idOf(cancel) !== id) throw new Error("it has another name");
  return cancel;
}

function fileOf(id: string): string {
  return `"untold-cancel-${id}.json" in the data directory`;
}

function rowOf(id: string): string {
  return `"${id}" in the shared store (PostgreSQL: table untold_cancel)`;
}

/** Returns what identifies a cancellation where it is kept. */
function idOf({ parentTaskId, toolCallId }: UntoldCancel): string {
  return hash("sha256", JSON.stringify([parentTaskId, toolCallId]));
}

function about({ agent, parentTaskId }: UntoldCancel): string {
  return `the cancellation of what task ${quoted(parentTaskId)} gave agent ${quoted(agent)}`;
}
