import { once } from "node:events";
import { open } from "node:fs/promises";
import { toJsonString } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { DevtoolClient } from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import {
  isTerminal as hasEnded,
  TaskEventSchema,
  TaskState,
  type TaskSummary,
} from "@devtool/schema";
import { type ConnectionOptions, connect } from "../connection/connection.ts";
import { errorMessage, UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { createQuestioner } from "../prompter.ts";
import { countOf } from "../render/count.ts";
import { writeJsonLine } from "../render/json-line.ts";
import { visibleName } from "../render/style.ts";
import { findTaskId, shortTaskId } from "../task-id.ts";
import { taskStateName } from "../task-state-name.ts";

/** The options of commands that delete tasks. */
interface DeleteOptions extends ConnectionOptions {
  /** Whether to delete without asking. */
  readonly yes?: true;
}

/** The options of `devtool tasks prune`. */
interface PruneOptions extends DeleteOptions {
  /** The time without a change, such as `30d`. */
  readonly olderThan: string;
  readonly state?: string;
  /** Whether to print the tasks alone. */
  readonly dryRun?: true;
}

/** What a person sees of a task before it is deleted. */
type Shown = Pick<TaskSummary, "id" | "title">;

/** The number of tasks to print before a question. */
const MAX_SHOWN = 20;

/** The number of tasks to delete at a time, which share commits of the store. */
const AT_ONCE = 16;

/** `devtool tasks delete`: deletes tasks that have ended, after a question. */
export async function deleteTasks(
  named: readonly string[],
  options: DeleteOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const { signal } = interrupt;
  const client = await connect(options, io, signal);
  const tasks: Shown[] = [];
  for (const name of named) {
    const id = await findTaskId(client, name, signal);
    const { tasks: listed } = await client.tasks.listTasks(
      { idPrefix: id, pageSize: 1 },
      { signal },
    );
    // The operator may delete tasks of others, which are not listed.
    tasks.push(listed.find((task) => task.id === id) ?? { id, title: "" });
  }
  return await deleteAll(client, tasks, options, { io, signal });
}

/**
 * `devtool tasks prune`: deletes the caller's tasks that have ended and did not
 * change for a time, after a question.
 */
export async function prune(options: PruneOptions, io: Io): Promise<number> {
  using interrupt = interruptSignal(io);
  const { signal } = interrupt;
  const before = Date.now() - ageMsOf(options.olderThan);
  const client = await connect(options, io, signal);
  const tasks: TaskSummary[] = [];
  let pageToken = "";
  do {
    const page = await client.tasks.listTasks(
      { pageSize: 100, pageToken },
      { signal },
    );
    tasks.push(...page.tasks.filter((task) => isOld(task, before, options)));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  // The oldest first: the latest task of a conversation costs a look for the
  // one before it.
  tasks.reverse();
  if (options.dryRun) {
    for (const task of tasks) writeLine(io.stdout, lineOf(task));
    writeLine(io.stderr, `would delete ${countOf(tasks.length, "task")}`);
    return ExitCode.OK;
  }
  return await deleteAll(client, tasks, options, { io, signal });
}

function isOld(
  { lastEvent }: TaskSummary,
  beforeMs: number,
  { state }: PruneOptions,
): boolean {
  const { time, state: now = TaskState.UNSPECIFIED } = lastEvent ?? {};
  return (
    time !== undefined &&
    timestampDate(time).getTime() < beforeMs &&
    hasEnded(now) &&
    (state === undefined || taskStateName(now) === state)
  );
}

const UNITS_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Returns an age in milliseconds. Throws for a text that is not an age. */
function ageMsOf(text: string): number {
  const [, count, unit = ""] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (count === undefined || unitMs === undefined) {
    throw new UsageError(
      `--older-than "${text}" is not an age: give a number of hours, days or weeks, such as 12h, 30d or 8w`,
    );
  }
  return Number(count) * unitMs;
}

interface Surroundings {
  readonly io: Io;
  readonly signal: AbortSignal;
}

/** Asks once for all tasks, and deletes them. One that fails costs itself. */
async function deleteAll(
  client: DevtoolClient,
  tasks: readonly Shown[],
  options: DeleteOptions,
  { io, signal }: Surroundings,
): Promise<number> {
  if (tasks.length === 0) {
    writeLine(io.stderr, "no tasks found");
    return ExitCode.OK;
  }
  if (!(await isAgreed(tasks, options, { io, signal }))) {
    writeLine(io.stderr, "nothing was deleted: answer y, or pass --yes");
    return ExitCode.CANCELED;
  }
  let failed = 0;
  const deleteOne = async ({ id }: Shown): Promise<void> => {
    try {
      const clientLabel = "devtool tasks";
      await client.tasks.deleteTask({ taskId: id, clientLabel }, { signal });
      writeLine(io.stdout, `deleted ${visibleName(id)}`);
    } catch (reason) {
      if (signal.aborted) return;
      failed++;
      writeLine(io.stderr, `devtool: ${errorMessage(reason)}`);
    }
  };
  for (let at = 0; at < tasks.length; at += AT_ONCE) {
    await Promise.all(tasks.slice(at, at + AT_ONCE).map(deleteOne));
    signal.throwIfAborted();
  }
  return failed === 0 ? ExitCode.OK : ExitCode.FAILED;
}

async function isAgreed(
  tasks: readonly Shown[],
  { yes }: DeleteOptions,
  { io, signal }: Surroundings,
): Promise<boolean> {
  if (yes) return true;
  for (const task of tasks.slice(0, MAX_SHOWN)) {
    writeLine(io.stdout, lineOf(task));
  }
  if (tasks.length > MAX_SHOWN) {
    writeLine(io.stdout, `and ${tasks.length - MAX_SHOWN} more`);
  }
  if (!io.interactive) return false;
  const prompt = `Delete ${countOf(tasks.length, "task")} for good? [y/N] > `;
  const question = { prompt, takesWords: false };
  const answer = await createQuestioner(io).ask(question, signal);
  return answer?.text === "y" || answer?.text === "yes";
}

function lineOf({ id, title }: Shown): string {
  return `${visibleName(shortTaskId(id))}  ${oneLine(title)}`.trimEnd();
}

/**
 * `devtool tasks export`: writes the events that a task has now as lines of
 * JSON, to a new file or to standard output.
 */
export async function exportTask(
  named: string,
  path: string | undefined,
  options: ConnectionOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const { signal } = interrupt;
  const client = await connect(options, io, signal);
  const taskId = await findTaskId(client, named, signal);
  const head = await lastSequence(client, taskId, signal);
  await using file =
    path === undefined ? undefined : await open(path, "wx", 0o600);
  for await (const { event } of client.tasks.subscribeTask(
    { taskId },
    { signal },
  )) {
    if (!event) continue;
    if (file) {
      await file.write(`${toJsonString(TaskEventSchema, event)}\n`);
    } else {
      writeJsonLine(io.stdout, TaskEventSchema, event);
      if (io.stdout.writableNeedDrain) {
        await once(io.stdout, "drain", { signal });
      }
    }
    if (event.sequence >= head) break;
  }
  if (path !== undefined) {
    writeLine(
      io.stdout,
      `exported ${countOf(head, "event")} to ${visibleName(path)}`,
    );
  }
  return ExitCode.OK;
}

/**
 * Returns the sequence of the last event of a task: from the list, which has
 * less of a long task than the task itself, where the protocol finds it there.
 */
async function lastSequence(
  { tasks }: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
): Promise<bigint> {
  const request = { idPrefix: taskId };
  const page = await tasks
    .listTasks(request, { signal })
    .catch((reason: unknown) => {
      if (ConnectError.from(reason).code === Code.Unimplemented) return;
      throw reason;
    });
  const listed = page?.tasks.find(({ id }) => id === taskId)?.lastEvent;
  if (listed) return listed.sequence;
  const { task } = await tasks.getTask({ taskId }, { signal });
  return task?.sequence ?? 0n;
}
