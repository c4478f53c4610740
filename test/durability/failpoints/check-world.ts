import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fromJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  emptyTask,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { checkCrash } from "../crash/check.ts";
import { settle, Witness } from "../crash/workload.ts";
import type { Life, World } from "./world.ts";

/**
 * The violations found in the data of a killed server, as sentences, and how
 * much data was checked.
 */
export interface WorldReport {
  readonly tasks: number;
  readonly events: number;
  readonly toolsRun: number;
  readonly interrupted: number;
  readonly violations: readonly string[];
}

/** A task that does not come to rest in this time is stuck. */
const PATIENCE_MS = 30_000;

/**
 * Sends again what was not answered, lets all tasks come to rest, compares what
 * clients know with the logs, and forgets them.
 */
export async function checkWorld(life: Life): Promise<WorldReport> {
  const { world } = life;
  for (const token of [...world.unanswered.keys()]) await life.send(token);
  const logs = new Map<string, readonly TaskEvent[]>();
  const stuck: string[] = [];
  for (const [taskId, token] of world.witness.tokens) {
    const log = await restingLog(life, taskId, token);
    if (log) {
      logs.set(taskId, log);
    } else {
      stuck.push(taskId);
    }
  }
  const written = await readFile(
    join(world.workspace, "effects.txt"),
    "utf8",
  ).catch(() => "");
  const tokens = new Set(world.witness.tokens.values());
  const effects = written.split("\n").filter((token) => tokens.has(token));
  const { tasks, events, toolsRun, interrupted, ...crash } = checkCrash(
    world.witness,
    logs,
    effects,
  );
  const violations = [
    ...Object.entries(crash).flatMap(([name, count]) =>
      count > 0 ? [`${name}: ${count}`] : [],
    ),
    ...[...logs].flatMap(([id, log]) =>
      log.length < (world.heads.get(id) ?? 0n)
        ? [`lost: the end of ${id}`]
        : [],
    ),
    ...stuck.map((taskId) => `task ${taskId} is stuck or missing`),
    ...(await auditFaults(life)),
    ...(await taskFaults(life, logs)),
    ...(await notificationFaults(life, logs)),
    ...(await browserFaults(life)),
    ...(await deletionFaults(life)),
    ...(await leftovers(world)),
  ];
  world.witness = new Witness();
  world.deleted.clear();
  world.gone.clear();
  world.leaving.clear();
  world.revokedBrowsers.clear();
  world.heads.clear();
  return { tasks, events, toolsRun, interrupted, violations };
}

/**
 * The log of a task that rests and asks nothing; undefined when it does not
 * come to that, or is not there.
 */
async function restingLog(
  life: Life,
  taskId: string,
  token: string,
): Promise<TaskEvent[] | undefined> {
  const { client, signal } = life;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  try {
    const log = await settle(client, taskId, limit);
    await life.approveAll(log.reduce(reduceTask, emptyTask()), token);
    return await settle(client, taskId, limit);
  } catch (reason) {
    const isMissing =
      reason instanceof ConnectError && reason.code === Code.NotFound;
    if (life.isOver || !(limit.aborted || isMissing)) throw reason;
    return undefined;
  }
}

async function auditFaults({ client, signal }: Life): Promise<string[]> {
  async function* records() {
    for await (const { record } of client.audit.readAudit({}, { signal })) {
      if (record) yield record;
    }
  }
  const { fault } = await verifyAudit(records());
  return fault === undefined ? [] : [`audit log: ${fault}`];
}

/**
 * Compares files and approvals with what the calls say of them. Nothing but a
 * stop of the server lets a call fail.
 */
async function taskFaults(
  { world }: Life,
  logs: ReadonlyMap<string, readonly TaskEvent[]>,
): Promise<string[]> {
  const approvals = await readFile(
    join(world.data, "saved-approvals.toml"),
    "utf8",
  ).catch(() => "");
  const faults: string[] = [];
  for (const [taskId, log] of logs) {
    const token = world.witness.tokens.get(taskId) ?? "";
    const task = log.reduce(reduceTask, emptyTask());
    const calls = task.history.flatMap(toolCallsOf);
    const edits = calls.filter(
      ({ inputParameters }) => pathOf(inputParameters) === `made/${token}.txt`,
    );
    const content = await readFile(
      join(world.workspace, "made", `${token}.txt`),
      "utf8",
    ).catch(() => "");
    if (content !== expectedContent(edits)) {
      faults.push(`file of ${taskId}: ${JSON.stringify(content)}`);
    }
    if (
      savesOf(task) &&
      calls.some(isSucceeded) &&
      !approvals.includes(token)
    ) {
      faults.push(`approval of ${taskId} is not saved`);
    }
    for (const { toolName, result } of calls) {
      if (result.case === "error" && result.value.type !== "interrupted") {
        faults.push(`${toolName}: ${result.value.message}`);
      }
    }
  }
  return faults;
}

/**
 * Returns the content of a task's file if each edit that was reported as made
 * was made once.
 */
function expectedContent(calls: readonly ToolCall[]): string {
  const made = calls.filter(isSucceeded);
  return made.length === 0 ? "" : `begin${" +".repeat(made.length - 1)}`;
}

function pathOf(parameters: ToolCall["inputParameters"]): string {
  return typeof parameters?.file_path === "string" ? parameters.file_path : "";
}

function savesOf({ history }: Task): boolean {
  return history.some(({ parts }) =>
    parts.some(
      ({ content }) =>
        content.case === "confirmation" &&
        content.value.selectedOptionId === "proceed_always_and_save",
    ),
  );
}

function isSucceeded({ status }: ToolCall): boolean {
  return status === ToolCallStatus.SUCCEEDED;
}

/**
 * Each event of a task with a config is posted, in order; a kill repeats one at
 * most. Deleted configs stay deleted.
 */
async function notificationFaults(
  life: Life,
  logs: ReadonlyMap<string, readonly TaskEvent[]>,
): Promise<string[]> {
  const { world, client, signal } = life;
  const faults: string[] = [];
  for (const [taskId, log] of logs) {
    const { configs } = await client.push.listPushConfigs(
      { taskId },
      { signal },
    );
    if (world.deleted.has(taskId) && configs.length > 0) {
      faults.push(`config of ${taskId} is back`);
    }
    if (!life.notifies || !world.witness.seen.has(taskId)) continue;
    const posted = await postsOf(world, {
      taskId,
      head: log.at(-1)?.sequence ?? 0n,
    });
    const once = [...new Set(posted)];
    const missing = log.filter(
      ({ sequence }) => !once.includes(sequence),
    ).length;
    if (missing > 0) {
      faults.push(`${missing} events of ${taskId} were not posted`);
    }
    if (once.some((sequence, index) => sequence < (once[index - 1] ?? 0n))) {
      faults.push(`posts of ${taskId} are not in order`);
    }
    if (posted.length - once.length > MAX_REPEATED) {
      faults.push(
        `${posted.length - once.length} posts of ${taskId} came again`,
      );
    }
  }
  return faults;
}

/**
 * Browsers that were let in are known, and those whose sessions were revoked
 * are not.
 */
async function browserFaults(life: Life): Promise<string[]> {
  const { world, signal } = life;
  const isKnown = async (token: string): Promise<boolean> => {
    try {
      await life.browserAccess(token).listBrowserSessions({}, { signal });
      return true;
    } catch (reason) {
      if (ConnectError.from(reason).code === Code.Unauthenticated) return false;
      throw reason;
    }
  };
  const faults: string[] = [];
  for (const [id, token] of world.browsers) {
    if (!(await isKnown(token))) faults.push(`browser session ${id} is lost`);
  }
  for (const [id, token] of world.revokedBrowsers) {
    if (await isKnown(token)) faults.push(`browser session ${id} is back`);
  }
  return faults;
}

/**
 * A task lives through two kills at most: the one in its first life, and one
 * while it is checked.
 */
const MAX_REPEATED = 2;

/**
 * The sequences that were posted for a task, once the last of its log was, or
 * after a while.
 */
async function postsOf(
  world: World,
  { taskId, head }: { readonly taskId: string; readonly head: bigint },
): Promise<bigint[]> {
  const late = AbortSignal.timeout(world.postTimeoutMs);
  const over = new Promise<void>((resolve) =>
    late.addEventListener("abort", () => resolve()),
  );
  for (;;) {
    const { received } = world.receiver;
    const events = received
      .map(({ body }) => fromJsonString(TaskEventSchema, body))
      .filter((event) => event.taskId === taskId);
    const sequences = events.map(({ sequence }) => sequence);
    if (sequences.includes(head) || late.aborted) return sequences;
    await Promise.race([world.receiver.reached(received.length + 1), over]);
  }
}

/** A task that is deleted is gone, and one that was to be is whole or gone. */
async function deletionFaults(life: Life): Promise<string[]> {
  const { client, world, signal } = life;
  const faults: string[] = [];
  const gone = [...world.gone].map((id) => [id, 0] as const);
  for (const [id, whole] of [...gone, ...world.leaving]) {
    const { tasks } = await client.tasks.listTasks(
      { idPrefix: id },
      { signal },
    );
    const events = await Array.fromAsync(
      client.tasks.subscribeTask({ taskId: id }, { signal }),
    ).catch((reason: unknown) => {
      if (ConnectError.from(reason).code === Code.NotFound) return [];
      throw reason;
    });
    const isGone = events.length === 0 && tasks.length === 0;
    const isWhole = events.length === whole && tasks.length === 1;
    if (isGone || (isWhole && whole > 0)) continue;
    faults.push(
      `deleted task ${id} has ${events.length} of ${whole} events and is listed ${tasks.length} times`,
    );
  }
  return faults;
}

/**
 * Files that only a write in progress should have, and those set aside as
 * broken. A `.new` beside a file is not among them: the next write of that file
 * removes it.
 */
async function leftovers({ data, workspace }: World): Promise<string[]> {
  const names = [
    ...(await readdir(data)),
    ...(await readdir(workspace, { recursive: true })),
  ];
  return names
    .filter((name) => /\.(tmp|bak|devtool-tmp)$/.test(name))
    .map((name) => `left over: ${name}`);
}
