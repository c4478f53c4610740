import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  failureResult,
  type Tool,
  type ToolEvent,
} from "@devtool/coding-agent/tool";
import { McpDetailsSchema, oneLine } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { CallDeadline } from "./call-deadline.ts";
import { CallEvents, type CallHooks } from "./call-events.ts";
import { cut, readCallResult } from "./call-result.ts";
import { describeError } from "./describe-error.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { McpSupervisor } from "./mcp-supervisor.ts";
import { serverHash } from "./server-hash.ts";
import type { ToolDefinition } from "./tool-definition.ts";

/** The options of `createMcpTool`. */
export interface McpToolOptions {
  /** The name of the tool for models, as `qualifyToolNames` gives it. */
  readonly qualifiedName: string;
  readonly definition: ToolDefinition;
  readonly supervisor: McpSupervisor;
  /** Where the server is, as `serverPlace` describes it. */
  readonly place: string;
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
 * definition.
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
    prepare: async (args) => {
      let problem: string | undefined;
      try {
        problem =
          options.validator.getValidator(inputSchema)(args).errorMessage;
      } catch {
        // The schema is invalid, so checking the arguments is left to the
        // server.
      }
      if (problem !== undefined) {
        throw invalid(
          "args",
          "",
          `do not fit tool ${qualifiedName}: ${problem}`,
        );
      }
      return {
        args,
        facts,
        description: `${oneLine(title || name, MAX_TITLE_LENGTH)} (MCP server ${server}: ${place})`,
        confirmation: {
          case: "mcpDetails",
          value: create(McpDetailsSchema, {
            serverName: server,
            toolName: name,
          }),
        },
        execute: (signal) => runCall(args, options, signal),
      };
    },
  };
}

/**
 * Runs a call: yields its progress, the questions of the server, and its
 * result.
 */
async function* runCall(
  args: JsonObject,
  options: McpToolOptions,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const over = new AbortController();
  using deadline = new CallDeadline(options.callTimeoutMs);
  const callSignal = AbortSignal.any([signal, deadline.signal, over.signal]);
  const events = new CallEvents(deadline, options.now, callSignal);
  const finished = callTool(
    args,
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
  args: JsonObject,
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
  try {
    connection = await supervisor.connection(signal);
    // A server may change a definition after the user has seen it (rug pull).
    const current = (await connection.tools(signal)).find(
      ({ name }) => name === definition.name,
    );
    if (current?.hash !== definition.hash) {
      const change = current
        ? "was changed by its server"
        : "is no longer offered by its server";
      const remedy = "ask for the tools again";
      throw new DevtoolError(
        `tool ${qualifiedName} ${change}`,
        Code.FailedPrecondition,
        { remedy },
      );
    }
    const result = await connection.callTool(
      { name: definition.name, args, hooks },
      signal,
    );
    return readCallResult(result, maxOutputLength);
  } catch (reason) {
    if (timeout.aborted) {
      connection?.checkAlive();
      const tool = `tool ${JSON.stringify(definition.name)} of MCP server ${JSON.stringify(supervisor.server.name)}`;
      const problem = `${tool} showed no progress for ${callTimeoutMs} ms and was cancelled`;
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
