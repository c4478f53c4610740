import { realpath } from "node:fs/promises";
import type {
  ListSessionsRequest,
  ListSessionsResponse,
  SessionInfo,
} from "@agentclientprotocol/sdk";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { DevtoolClient } from "@devtool/client";
import { defined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import { Role, type Task } from "@devtool/schema";
import { invalidParams } from "./errors.ts";

/** Maximum length of a title in characters. */
const MAX_TITLE_LENGTH = 80;

/**
 * Lists the contexts of a server as sessions, those with the newest task first.
 */
export async function listSessions(
  { tasks }: DevtoolClient,
  { cwd, cursor }: ListSessionsRequest,
  signal: AbortSignal,
): Promise<ListSessionsResponse> {
  const page = await tasks.listTasks({ pageToken: cursor ?? "" }, { signal });
  const seen = new Set<string>();
  const sessions: SessionInfo[] = [];
  for (const summary of page.tasks) {
    if (seen.has(summary.contextId)) continue;
    seen.add(summary.contextId);
    if (typeof cursor === "string") {
      // If the task is not the newest of its context, an earlier page had the
      // context.
      const newest = await tasks.listTasks(
        { contextId: summary.contextId, pageSize: 1 },
        { signal },
      );
      if (newest.tasks[0]?.id !== summary.id) continue;
    }
    const { task } = await tasks.getTask({ taskId: summary.id }, { signal });
    const workspace = task?.settings?.workspacePath ?? "";
    if (!task || workspace === "") continue;
    if (typeof cwd !== "string" || (await isDirectory(cwd, workspace))) {
      sessions.push(sessionInfo(task));
    }
  }
  return defined({ sessions, nextCursor: page.nextPageToken || undefined });
}

/**
 * Whether a path leads to a workspace. A server on this machine knows the
 * workspace by its path without links.
 */
async function isDirectory(path: string, workspace: string): Promise<boolean> {
  return (
    path === workspace || (await realpath(path).catch(() => path)) === workspace
  );
}

function sessionInfo(task: Task): SessionInfo {
  const { contextId, settings, updateTime, command, history } = task;
  const parts = history.find(({ role }) => role === Role.USER)?.parts ?? [];
  const message = parts
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join(" ");
  const line =
    command && `/${command.commandPath.join(" ")} ${command.args}`.trimEnd();
  const title = oneLine(line ?? message, MAX_TITLE_LENGTH);
  return defined({
    sessionId: contextId,
    cwd: settings?.workspacePath ?? "",
    title: title || undefined,
    updatedAt: updateTime && timestampDate(updateTime).toISOString(),
  });
}

/**
 * Reads the tasks of a session, oldest first. None if the server does not know
 * it.
 */
export async function tasksOfSession(
  { tasks }: DevtoolClient,
  contextId: string,
  signal: AbortSignal,
): Promise<Task[]> {
  const found: Task[] = [];
  if (contextId === "") return found;
  let pageToken = "";
  do {
    const page = await tasks.listTasks(
      { contextId, pageSize: 100, pageToken },
      { signal },
    );
    for (const { id } of page.tasks) {
      const { task } = await tasks.getTask({ taskId: id }, { signal });
      if (task) found.push(task);
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found.toSorted((one, other) => createdMs(one) - createdMs(other));
}

/** Returns the last of the tasks that prompts go on with; undefined for none. */
export function lastOfPrompts(tasks: readonly Task[]): Task | undefined {
  return tasks.findLast(({ command }) => command === undefined);
}

function createdMs({ createTime }: Task): number {
  return createTime ? timestampDate(createTime).getTime() : 0;
}

/** Throws for another directory than the one that a session works in. */
export async function assertWorksIn(
  sessionId: string,
  cwd: string,
  { settings }: Task,
): Promise<void> {
  const workspace = settings?.workspacePath ?? "";
  if (workspace === "" || (await isDirectory(cwd, workspace))) return;
  throw invalidParams(
    `cwd ${JSON.stringify(cwd)} is not where session ${JSON.stringify(sessionId)} works: send ${JSON.stringify(workspace)}, or start a new session`,
  );
}
