import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  findToolCallDetail,
  type Task,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import type { AwaitedServer } from "../agent/late-calls.ts";
import type { AgentHost } from "./host.ts";
import { mcpSessionOf } from "./toolbox.ts";

/** The longest time that a timer takes, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/**
 * How long a call waits for a server that did not say how long it keeps its
 * task, in milliseconds.
 */
const WAIT_WITHOUT_TTL_MS = 3_600_000;

/**
 * Returns the MCP server that has made a task of a call (SEP-2663), for which
 * the call waits after a restart: as long as the server keeps the task.
 * Undefined for any other call, and where the session has no such server.
 */
export async function awaitedServer(
  { mcp, dependencies }: AgentHost,
  task: Task,
  { toolCallId, toolName, status }: ToolCall,
  signal: AbortSignal,
): Promise<AwaitedServer | undefined> {
  const { delegation } = findToolCallDetail(task, toolCallId) ?? {};
  const { mcpServer: name = "", taskId = "", expireTime } = delegation ?? {};
  if (!mcp || status !== ToolCallStatus.EXECUTING) return undefined;
  if (name === "" || taskId === "") return undefined;
  const session = mcpSessionOf(task);
  const statuses = await mcp.currentStatus(session, signal);
  const server = statuses.find((each) => each.name === name);
  if (!server) return undefined;
  const now = dependencies.services.now();
  const until = expireTime
    ? timestampDate(expireTime)
    : new Date(now.getTime() + WAIT_WITHOUT_TTL_MS);
  const restMs = Math.max(0, Math.ceil(until.getTime() - now.getTime()));
  const mustWait = server.state !== "ready" && restMs > 0;
  return {
    name,
    notice: mustWait
      ? `MCP server ${JSON.stringify(name)} is not there: the call of ${toolName} waits for it until ${until.toISOString()}`
      : "",
    wait: (waiting) => {
      const limit = AbortSignal.timeout(Math.min(restMs, MAX_TIMER_MS));
      return mcp.waitFor(session, name, AbortSignal.any([waiting, limit]));
    },
  };
}
