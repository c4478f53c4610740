import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  findToolCallDetail,
  openToolCalls,
  type Task,
  ToolCallStatus,
} from "@devtool/schema";
import type { AgentHost } from "./host.ts";
import { mcpSessionOf } from "./toolbox.ts";

/** The longest time that a timer takes, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits, in a turn that goes on after a restart, for the MCP servers that made
 * tasks of its calls (SEP-2663): for each one as long as it keeps the task.
 * Rejects when the signal aborts.
 */
export async function waitForCalledServers(
  { mcp, dependencies }: AgentHost,
  task: Task,
  signal: AbortSignal,
): Promise<void> {
  if (!mcp) return;
  const session = mcpSessionOf(task);
  const nowMs = dependencies.services.now().getTime();
  const waiting = openToolCalls(task).map(async ({ toolCallId, status }) => {
    const { delegation } = findToolCallDetail(task, toolCallId) ?? {};
    const { mcpServer = "", taskId = "", expireTime } = delegation ?? {};
    if (status !== ToolCallStatus.EXECUTING || mcpServer === "") return;
    if (taskId === "") return;
    const limits = expireTime
      ? [AbortSignal.timeout(timerOf(timestampMs(expireTime) - nowMs))]
      : [];
    const limit = AbortSignal.any([signal, ...limits]);
    // Without its server, the call fails as any other.
    await mcp.waitFor(session, mcpServer, limit).catch(() => undefined);
  });
  await Promise.all(waiting);
  signal.throwIfAborted();
}

function timerOf(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), MAX_TIMER_MS);
}
