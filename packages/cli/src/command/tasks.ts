import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { oneLine } from "@devtool/internal/visible-text";
import {
  GoalState,
  type TaskEvent,
  TaskState,
  TaskSummarySchema,
} from "@devtool/schema";
import { type ConnectionOptions, connect } from "../connection/connection.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, isTerminal, writeLine } from "../io.ts";
import { ageOf, messagesOf } from "../render/age.ts";
import { writeJsonLine } from "../render/json-line.ts";
import { visibleName } from "../render/style.ts";
import { findTaskId, shortTaskId } from "../task-id.ts";
import { taskStateName } from "../task-state-name.ts";

/** The options of `devtool tasks`. */
interface TasksOptions extends ConnectionOptions {
  readonly json?: true;
  readonly state?: string;
  readonly agent?: string;
  readonly workspace?: string;
  readonly title?: string;
  /** Lists the tasks of all callers. */
  readonly all?: true;
  /** The maximum number of tasks to print. Default: all. */
  readonly limit?: number;
}

const PAGE = 100;

/** `devtool tasks`: lists tasks, newest first. */
export async function tasks(options: TasksOptions, io: Io): Promise<number> {
  const client = await connect(options, io);
  const {
    agent = "",
    title = "",
    all: allCallers = false,
    workspace,
    limit = Number.POSITIVE_INFINITY,
  } = options;
  // Servers know workspaces by their real paths. A path that does not exist on
  // this machine is sent as it is.
  const workspacePath =
    workspace === undefined
      ? ""
      : await realpath(resolve(workspace)).catch(() => workspace);
  const states = Object.values(TaskState).filter(
    (value) => typeof value === "number",
  );
  const state =
    states.find((value) => taskStateName(value) === options.state) ??
    TaskState.UNSPECIFIED;
  const titleContains = title;
  const filters = { agent, titleContains, workspacePath, state, allCallers };
  let left = limit;
  let hasFound = false;
  let pageToken = "";
  do {
    const page = await client.tasks.listTasks({
      ...filters,
      pageSize: Math.min(left, PAGE),
      pageToken,
    });
    for (const task of page.tasks) {
      if (options.json) {
        writeJsonLine(io.stdout, TaskSummarySchema, task);
      } else {
        const { id, lastEvent, title, messageCount, principal } = task;
        const caller = allCallers ? `${visibleName(principal)}  ` : "";
        const name = taskStateName(
          lastEvent?.state ?? TaskState.UNSPECIFIED,
        ).padEnd(14);
        const time = isTerminal(io.stdout)
          ? ageOf(lastEvent?.time, Date.now()).padEnd(9)
          : (lastEvent?.time
              ? timestampDate(lastEvent.time).toISOString()
              : ""
            ).padEnd(24);
        const goal = goalOf(lastEvent);
        writeLine(
          io.stdout,
          `${visibleName(shortTaskId(id))}  ${name}  ${time}  ${messagesOf(messageCount).padEnd(12)}  ${caller}${goal}${oneLine(title)}`.trimEnd(),
        );
      }
    }
    hasFound ||= page.tasks.length > 0;
    left -= page.tasks.length;
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && left > 0);
  if (!hasFound) writeLine(io.stderr, "no tasks found");
  return ExitCode.OK;
}

/** Says in a column how far a task is with its goal; empty without one. */
function goalOf(event: TaskEvent | undefined): string {
  const { goalState = GoalState.UNSPECIFIED } = event ?? {};
  if (goalState === GoalState.UNSPECIFIED) return "";
  return `goal ${(GoalState[goalState] ?? `${goalState}`).toLowerCase()}  `;
}

/** `devtool rename`: gives a task another title. */
export async function rename(
  taskId: string,
  title: string,
  options: ConnectionOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const { signal } = interrupt;
  const client = await connect(options, io, signal);
  const id = await findTaskId(client, taskId, signal);
  const { task } = await client.tasks.renameTask(
    { taskId: id, title, clientLabel: "devtool rename" },
    { signal },
  );
  writeLine(
    io.stdout,
    `${visibleName(shortTaskId(id))}  ${visibleName(task?.title ?? "")}`,
  );
  return ExitCode.OK;
}

/** `devtool cancel`: cancels a task and ends everything that it started. */
export async function cancel(
  taskId: string,
  options: ConnectionOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const { signal } = interrupt;
  const client = await connect(options, io, signal);
  const id = await findTaskId(client, taskId, signal);
  await client.tasks.cancelTask({ taskId: id }, { signal });
  writeLine(io.stdout, `canceled ${visibleName(id)}`);
  return ExitCode.OK;
}
