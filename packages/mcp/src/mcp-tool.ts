import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  failureResult,
  type Tool,
  type ToolEvent,
} from "@devtool/coding-agent/tool";
import { objectOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  findToolCallDetail,
  McpDetailsSchema,
  type Task,
} from "@devtool/schema";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import type {
  CallToolResult,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import { CallDeadline } from "./call-deadline.ts";
import { CallEvents, type CallHooks } from "./call-events.ts";
import { cut, readCallResult } from "./call-result.ts";
import { describeError, shortMessage } from "./describe-error.ts";
import type { McpConnection, ToolRequest } from "./mcp-connection.ts";
import type { McpSupervisor } from "./mcp-supervisor.ts";
import { withoutNullsBelow } from "./message-problem.ts";
import { serverHash } from "./server-hash.ts";
import {
  followTask,
  type ServerTask,
  taskOfResult,
  taskWithId,
} from "./task-call.ts";
import { taskRequests } from "./task-requests.ts";
import type { ToolDefinition } from "./tool-definition.ts";

/** The options of `createMcpTool`. */
export interface McpToolOptions {
  /** The name of the tool for models, as `qualifyToolNames` gives it. */
  readonly qualifiedName: string;
  readonly definition: ToolDefinition;
  readonly supervisor: McpSupervisor;
  /** Where the server is, as `serverPlace` describes it. */
  readonly place: string;
  /** Whether the server has the name of one of the operator's. */
  readonly isNamesake: boolean;
  /** Checks arguments against the schema of the tool. */
  readonly validator: jsonSchemaValidator;
  /** The timeout of a call without progress, in milliseconds. */
  readonly callTimeoutMs: number;
  /** The maximum length of a result, in characters; the rest is cut. */
  readonly maxOutputLength: number;
  /** The clock, in milliseconds. */
  readonly now: () => number;
}

/** The maximum length of a description for the model, in characters. */
const MAX_DESCRIPTION_LENGTH = 8192;
/** The maximum length of a title in a question, in characters. */
const MAX_TITLE_LENGTH = 100;

/**
 * Creates the agent's tool for a tool of an MCP server.
 *
 * Every call asks. Approvals bind to the server and to the hash of the
 * definition. Only the order of calls trusts the server's `readOnlyHint`.
 */
export function createMcpTool(options: McpToolOptions): Tool {
  const { qualifiedName, definition, supervisor, place } = options;
  const { name, title, description, inputSchema, annotations, hash } =
    definition;
  const server = supervisor.server.name;
  const mcpServerHash = serverHash(supervisor.server);
  const facts = {
    mcpServer: server,
    mcpServerHash,
    isNamesake: options.isNamesake,
    definitionHash: hash,
    annotations,
  };
  return {
    declaration: {
      name: qualifiedName,
      description: cut(description || title, MAX_DESCRIPTION_LENGTH),
      parameters: inputSchema,
    },
    facts,
    prepare: async (given) => {
      const args = checkArguments(given, options);
      return {
        args,
        facts,
        onlyReads: annotations.readOnlyHint === true,
        description: `${oneLine(title || name, MAX_TITLE_LENGTH)} (MCP server ${server}: ${place})`,
        confirmation: {
          case: "mcpDetails",
          value: create(McpDetailsSchema, {
            serverName: server,
            toolName: name,
          }),
        },
        execute: (signal, trace, place) =>
          runCall({ args, trace, place }, options, signal),
      };
    },
  };
}

/**
 * Returns the arguments of a call if they fit the schema of its tool. Null for
 * an argument that may not be null is none. Throws `Code.InvalidArgument`.
 */
function checkArguments(
  args: JsonObject,
  { definition, validator, qualifiedName }: McpToolOptions,
): JsonObject {
  const problemOf = (value: JsonObject): string | undefined => {
    try {
      const check = validator.getValidator(definition.inputSchema);
      return check(value).errorMessage;
    } catch {
      // The schema is invalid, so checking the arguments is left to the server.
      return undefined;
    }
  };
  const problem = problemOf(args);
  if (problem === undefined) return args;
  const sparse = objectOrEmpty(withoutNullsBelow(args));
  if (problemOf(sparse) === undefined) return sparse;
  throw invalid(
    "args",
    "",
    `do not fit tool ${qualifiedName}: ${shortMessage(problem)}`,
  );
}

/** A call that runs. */
interface Call extends Pick<ToolRequest, "args" | "trace"> {
  /** The call in the log; undefined for one that no restart goes on with. */
  readonly place: CallPlace | undefined;
}

interface CallPlace {
  readonly toolCallId: string;
  readonly isResumed: boolean;
  readonly task: Task;
}

/**
 * Runs a call: yields its progress, the questions of the server, and its
 * result.
 */
async function* runCall(
  call: Call,
  options: McpToolOptions,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const over = new AbortController();
  using deadline = new CallDeadline(options.callTimeoutMs);
  const callSignal = AbortSignal.any([signal, deadline.signal, over.signal]);
  const events = new CallEvents(deadline, options.now, callSignal);
  const finished = callTool(
    call,
    options,
    events,
    callSignal,
    deadline.signal,
  ).then((result) => events.finish(result));
  try {
    for await (const event of events) {
      if (event.case === "result") signal.throwIfAborted();
      yield event;
    }
  } finally {
    over.abort();
    await finished;
  }
}

/**
 * Calls the tool and returns its result. A failure is a result too, so this
 * never rejects.
 */
async function callTool(
  call: Call,
  options: McpToolOptions,
  hooks: CallHooks,
  signal: AbortSignal,
  timeout: AbortSignal,
): Promise<ToolEvent> {
  const {
    qualifiedName,
    definition,
    supervisor,
    maxOutputLength,
    callTimeoutMs,
  } = options;
  let connection: McpConnection | undefined;
  const follow = async (task: ServerTask): Promise<CallToolResult> => {
    const requests = await taskRequests(supervisor, hooks);
    return followTask(task, requests, hooks, signal);
  };
  try {
    const known = call.place?.isResumed ? knownTask(call.place) : undefined;
    if (known) return readCallResult(await follow(known), maxOutputLength);
    const result = await supervisor.ask(async (current) => {
      connection = current;
      await assertUnchanged(definition, qualifiedName, current, signal);
      const { args, trace } = call;
      const request = { args, trace, name: definition.name, hooks };
      return current.callTool(request, signal);
    }, signal);
    const task = taskOfResult(result);
    if (!task) return readCallResult(result, maxOutputLength);
    // The task outlives the connection.
    connection = undefined;
    return readCallResult(await follow(task), maxOutputLength);
  } catch (reason) {
    if (timeout.aborted) {
      connection?.checkAlive();
      const tool = `tool ${JSON.stringify(definition.name)} of MCP server ${JSON.stringify(supervisor.server.name)}`;
      const lost = reason instanceof DevtoolError ? `: ${reason.message}` : "";
      const problem = `${tool} showed no progress for ${callTimeoutMs} ms and was cancelled${lost}`;
      return failureResult(
        "timeout",
        `${problem}; what it did until then is unknown`,
      );
    }
    const message = connection?.ended.aborted
      ? `${DevtoolError.from(connection.ended.reason).message}; what the call did until then is unknown`
      : describeError(reason);
    return failureResult("mcp_tool_error", cut(message, maxOutputLength));
  }
}

/** Returns the task that a server made of a call before a restart. */
function knownTask({ task, toolCallId }: CallPlace): ServerTask {
  const { delegation } = findToolCallDetail(task, toolCallId) ?? {};
  const { taskId = "", expireTime } = delegation ?? {};
  return taskWithId(taskId, expireTime && timestampMs(expireTime));
}

/** Throws for a tool that its server changed after the user saw it (rug pull). */
async function assertUnchanged(
  { name, hash }: ToolDefinition,
  qualifiedName: string,
  connection: McpConnection,
  signal: AbortSignal,
): Promise<void> {
  const tools = await connection.tools(signal);
  const current = tools.find((tool) => tool.name === name);
  if (current?.hash === hash) return;
  const change = current
    ? "was changed by its server"
    : "is no longer offered by its server";
  throw new DevtoolError(
    `tool ${qualifiedName} ${change}`,
    Code.FailedPrecondition,
    { remedy: "ask for the tools again" },
  );
}
